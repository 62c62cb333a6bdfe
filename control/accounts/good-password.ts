import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import { refuse } from './person-store.ts';

const MIN_PASSWORD = 12;
/** Zxcvbn's scale from 0 to 4; from 2 on, more than a million guesses. */
const MIN_SCORE = 2;

let estimator: ZxcvbnFactory | null = null;

/** Whether it is a common password, a change of one, or a pattern of keys. */
function isEasyToGuess(password: string): boolean {
  // Made at the first use: reading the dictionary takes 40 ms.
  estimator ??= new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return estimator.check(password.normalize('NFKC')).score < MIN_SCORE;
}

/** A password that may be set; 422 with this pointer for one that is short or easy to guess. */
export function requireGoodPassword(password: string, pointer = '/password'): string {
  if (Array.from(password).length < MIN_PASSWORD) {
    throw refuse(pointer, `must have at least ${MIN_PASSWORD} characters`);
  }
  if (isEasyToGuess(password)) {
    throw refuse(
      pointer,
      'is a common password or close to one; choose another, such as four words',
    );
  }
  return password;
}
