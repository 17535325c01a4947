// Text that cannot look like another: characters that are not seen, or that reorder or imitate others, become escapes.

// Controls, blanks other than the space, lone surrogates, and what Unicode says to leave undrawn (bidirectional controls, zero-width characters, fillers, tags).
// Two more are drawn as a blank or as nothing. A variation selector of an emoji stays.
const UNSEEN = /(?![ \n\t]|(?<=\p{ExtPict})\ufe0f)[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\p{Cs}\p{DI}\u2800\ufff9-\ufffb]/gu;

function escape(character) {
  const code = character.codePointAt(0)?.toString(16) ?? "";
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

const APART = new RegExp(`(${UNSEEN.source})`, "gu");

/** The same text in pieces; the escapes are those with an odd index. @param {string} text */
export const pieces = (text) => text.split(APART).map((piece, i) => (i % 2 ? escape(piece) : piece));

/** "a\u202eb" for an override between a and b. Letters of all scripts stay as they are. @param {string} text */
export const visible = (text) => text.replace(UNSEEN, escape);
