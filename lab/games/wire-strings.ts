/** Text that ends with a zero byte, and where the next field begins. */
export function readText(bytes: Buffer, at: number): readonly [text: string, next: number] {
  const end = bytes.indexOf(0, at);
  if (end === -1) throw new Error('a text without an end');
  return [bytes.toString('utf8', at, end), end + 1];
}

/** In a field of this many bytes, the rest zeros. */
export function padded(text: string, length: number): Buffer {
  const field = Buffer.alloc(length);
  field.write(text, 'utf8');
  return field;
}

export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
