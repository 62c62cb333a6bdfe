import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { refuse } from './person-store.ts';

const MIN_PASSWORD = 12;
/** Zxcvbn's scale from 0 to 4; from 2 on, more than a million guesses. */
const MIN_SCORE = 2;

let estimator: Promise<ZxcvbnFactory> | null = null;

/** Loaded on first use, because the dictionary takes 50 ms and 9 MB. */
async function loadEstimator(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}

/** Whether it is a common password, a change of one, or a pattern of keys. */
async function isEasyToGuess(password: string): Promise<boolean> {
  estimator ??= loadEstimator();
  return (await estimator).check(password.normalize('NFKC')).score < MIN_SCORE;
}

/** A password that may be set; 422 with this pointer for one that is short or easy to guess. */
export async function requireGoodPassword(
  password: string,
  pointer = '/password',
): Promise<string> {
  if (Array.from(password).length < MIN_PASSWORD) {
    throw refuse(pointer, `must have at least ${MIN_PASSWORD} characters`);
  }
  if (await isEasyToGuess(password)) {
    throw refuse(
      pointer,
      'is a common password or close to one; choose another, such as four words',
    );
  }
  return password;
}
