// What the programs of this folder share: their settings, and how they say what they read (../scenario.py).
const setting = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

export const api = setting("API");
export const laterApi = setting("API_LATER");
export const token = setting("TOKEN");
export const readOnlyToken = setting("TOKEN_READ_ONLY");
export const url = setting("URL_OF_RECEIVER");
export const webhook = Number(setting("WEBHOOK"));
export const onlyRefused = process.argv[2] === "refused";

const day = 86_400_000;
export const yesterday = new Date(Date.now() - day);
export const tomorrow = new Date(Date.now() + day);
export const large = { relleno: "x".repeat(70_000) };

export const say = (step: string, ...values: unknown[]): void => console.log([step, ...values].map(String).join(" "));

/** Asks until `done` is true of the answer. */
export async function until<T>(ask: () => Promise<T>, done: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (done(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
