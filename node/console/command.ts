/**
 * What a command is on a console: the text and a line end. The API takes none with control characters (0x03 is an
 * interrupt on a terminal, a line end makes two commands); one that comes here all the same is a mistake of ours.
 */
export function encodeCommand(command: string): Buffer {
  if (command === '' || /[\p{Cc}\u2028\u2029]/u.test(command)) {
    throw new RangeError('a command is one line of text without control characters');
  }
  return Buffer.from(`${command}\n`, 'utf8');
}
