import type { Position } from '@portcullis/core/yaml/parse-yaml.ts';

export type { Position };

/** A mistake in the file: its position, and a sentence that says what to write. Never quotes a secret. */
export interface Mistake extends Position {
  readonly file: string;
  readonly message: string;
}

/** More mistakes than these usually repeat the same one. */
export const LISTED_MISTAKES = 50;

/** Collects mistakes, each once, up to a limit. */
export class MistakeList {
  readonly #file: string;
  readonly #found = new Map<string, Mistake>();
  readonly #unreadable = new Set<string>();

  constructor(file: string) {
    this.#file = file;
  }

  add(at: Position, message: string): void {
    if (!this.#unreadable.has(positionKey(at))) this.#put(at, message);
  }

  /** Adds a mistake of a value that could not be read, and suppresses later mistakes of the same value. */
  addUnreadable(at: Position, message: string): void {
    this.#unreadable.add(positionKey(at));
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
    this.#found.set(`${positionKey(at)} ${message}`, { file: this.#file, line, column, message });
  }
}

function positionKey({ line, column }: Position): string {
  return `${line}:${column}`;
}

/** `fleet.yaml:12:7: message`, a form that editors can follow. */
export function renderMistake({ file, line, column, message }: Mistake): string {
  return `${file}:${line}:${column}: ${message}`;
}
