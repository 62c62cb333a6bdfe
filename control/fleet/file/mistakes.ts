/** Both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Something wrong in the file, where, and in a sentence that says what to write. Never quotes a secret. */
export interface Mistake extends Position {
  readonly file: string;
  readonly message: string;
}

/** So many are listed; the rest is usually the same one again. */
export const LISTED_MISTAKES = 50;

/** Gathers mistakes in the order of the file, each once, and not without end. */
export class MistakeList {
  readonly #file: string;
  readonly #found = new Map<string, Mistake>();

  constructor(file: string) {
    this.#file = file;
  }

  add(at: Position, message: string): void {
    if (this.full) return;
    const { line, column } = at;
    this.#found.set(`${line}:${column} ${message}`, { file: this.#file, line, column, message });
  }

  get full(): boolean {
    return this.#found.size >= LISTED_MISTAKES;
  }

  get empty(): boolean {
    return this.#found.size === 0;
  }

  list(): Mistake[] {
    return [...this.#found.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  }
}

/** `fleet.yaml:12:7: message`, as compilers write it and editors jump to it. */
export function renderMistake({ file, line, column, message }: Mistake): string {
  return `${file}:${line}:${column}: ${message}`;
}
