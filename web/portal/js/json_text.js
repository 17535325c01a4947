// JSON formatted for reading, without parsing its numbers: 7.50 stays 7.50, and an integer of 64 bits loses none of its digits.

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** @param {string} text JSON; returned unchanged if its brackets do not match */
export function pretty(text) {
  let depth = 0;
  let out = "";
  const tokens = text.match(TOKEN) ?? [];
  const line = () => `\n${"  ".repeat(depth)}`;
  for (let i = 0; i < tokens.length; ++i) {
    const token = tokens[i];
    if (token === "{" || token === "[") {
      const empty = tokens[i + 1] === (token === "{" ? "}" : "]");
      out += empty ? token + tokens[++i] : token + (++depth, line());
    } else if (token === "}" || token === "]") {
      --depth;
      if (depth < 0) return text;
      out += line() + token;
    } else if (token === ",") out += `,${line()}`;
    else if (token === ":") out += ": ";
    else out += token;
  }
  return depth === 0 && out ? out : text;
}
