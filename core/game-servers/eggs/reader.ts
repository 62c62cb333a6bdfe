/**
 * Reads an untrusted JSON document: every value is checked for type and size, and an error names its path
 * (`variables[2].env_variable`). Unusual but harmless content becomes a note.
 */
export class EggMistake extends Error {
  override readonly name = 'EggMistake';
}

export type Fields = Readonly<Record<string, unknown>>;

export class Reader {
  readonly notes: string[] = [];
  private dropped = 0;

  /** At most `MAX_NOTES` without duplicates, because a hostile egg could produce any number. */
  note(text: string): void {
    if (this.notes.includes(text)) return;
    if (this.notes.length < MAX_NOTES) this.notes.push(text);
    else this.dropped += 1;
  }

  allNotes(): readonly string[] {
    return this.dropped === 0 ? this.notes : [...this.notes, `and ${this.dropped} more`];
  }

  refuse(location: string, what: string): never {
    throw new EggMistake(`${location}: ${what}`);
  }

  object(value: unknown, location: string): Fields {
    if (!isFields(value)) this.refuse(location, `must be an object, not ${kindOf(value)}`);
    return value;
  }

  list(value: unknown, location: string, maxItems: number): readonly unknown[] {
    if (!Array.isArray(value)) this.refuse(location, `must be a list, not ${kindOf(value)}`);
    if (value.length > maxItems) {
      this.refuse(location, `has ${value.length} entries; at most ${maxItems} are taken`);
    }
    return value;
  }

  entries(
    value: unknown,
    location: string,
    maxItems: number,
  ): readonly (readonly [string, unknown])[] {
    const entries = Object.entries(this.object(value, location));
    if (entries.length > maxItems) {
      this.refuse(location, `has ${entries.length} entries; at most ${maxItems} are taken`);
    }
    return entries;
  }

  /** Text without NUL, which environments, file names and consoles do not accept. */
  text(value: unknown, location: string, maxLength: number): string {
    if (typeof value !== 'string') this.refuse(location, `must be text, not ${kindOf(value)}`);
    if (value.length > maxLength) {
      this.refuse(location, `has ${value.length} characters; at most ${maxLength} are taken`);
    }
    if (value.includes('\0')) this.refuse(location, 'has a NUL character');
    return value;
  }

  /** Text, or a number or boolean as text, because exporters differ. */
  scalarText(value: unknown, location: string, maxLength: number): string {
    const scalar = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    return this.text(scalar, location, maxLength);
  }
}

const MAX_NOTES = 50;

/** Whether the value is absent, null, empty text, or an empty list or object (PHP confuses these two). */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return value.trim() === '';
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For messages: short and without control characters. */
export function shown(text: string): string {
  const plain = text.replace(/[^\x20-\x7e\u00a1-\ud7ff]/g, '?');
  return plain.length > 60 ? `"${plain.slice(0, 57)}..."` : `"${plain}"`;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
