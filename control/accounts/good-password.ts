import { QueueFull } from '../http/operations/bounded-queue.ts';
import { presentRequest } from '../http/operations/request-end.ts';
import { estimating, tooMany } from './hashing.ts';
import { refuse } from './person-store.ts';

const MIN_PASSWORD = 12;
/** Zxcvbn's scale from 0 to 4; from 2 on, more than a million guesses. */
const MIN_SCORE = 2;

/** The part that is examined: a second of a core at most, and more than enough for a guess in a million. */
const MOST_LENGTH = 64;

/** Whether it is a common password, a change of one, or a pattern of keys. Throws 503 when too many wait. */
async function isEasyToGuess(password: string): Promise<boolean> {
  const text = password.normalize('NFKC').slice(0, MOST_LENGTH);
  try {
    const made = await estimating.queue.run(() => estimating.thread.run(text), presentRequest());
    if (made.ok) return made.answer < MIN_SCORE;
    throw new Error(`a password was not estimated: its thread failed (${made.failure})`);
  } catch (error) {
    if (error instanceof QueueFull) throw tooMany(error);
    throw error;
  }
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
