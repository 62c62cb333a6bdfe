import type { CallOptions } from './options.ts';

/** One line on the terminal that says how far something is; nothing where nobody looks. */
export class Progress {
  readonly #isShown: boolean;

  constructor({ quiet, json }: CallOptions) {
    this.#isShown = process.stderr.isTTY && quiet !== true && json !== true;
  }

  show(text: string): void {
    if (this.#isShown) process.stderr.write(`\r\u001b[K${text}`);
  }

  end(): void {
    this.show('');
  }
}
