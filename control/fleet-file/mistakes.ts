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
  readonly #unread = new Set<string>();

  constructor(file: string) {
    this.#file = file;
  }

  add(at: Position, message: string): void {
    if (!this.#unread.has(placeOf(at))) this.#put(at, message);
  }

  /** The value there could not be read: what is found of it afterwards follows from that, and is not told. */
  addUnread(at: Position, message: string): void {
    this.#unread.add(placeOf(at));
    this.#put(at, message);
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

  #put(at: Position, message: string): void {
    if (this.full) return;
    const { line, column } = at;
    this.#found.set(`${placeOf(at)} ${message}`, { file: this.#file, line, column, message });
  }
}

function placeOf({ line, column }: Position): string {
  return `${line}:${column}`;
}

/** `fleet.yaml:12:7: message`, as compilers write it and editors jump to it. */
export function renderMistake({ file, line, column, message }: Mistake): string {
  return `${file}:${line}:${column}: ${message}`;
}
