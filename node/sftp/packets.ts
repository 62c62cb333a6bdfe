/** The form of packets of SFTP: a length, a type, and values. */
export function packetOf(type: number, ...values: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from([type]), ...values]);
  return Buffer.concat([word(body.length), body]);
}

export function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function long(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

export function text(value: string): Buffer {
  return lengthed(Buffer.from(value));
}

/** Bytes behind their length. */
export function lengthed(bytes: Buffer): Buffer {
  return Buffer.concat([word(bytes.length), bytes]);
}
