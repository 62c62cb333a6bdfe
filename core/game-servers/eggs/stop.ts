import { failed, type Parsed, parsed } from '../../net/parsed.ts';
import type { StopInstruction, StopSignal } from '../egg.ts';

/** Notes about text that cannot be applied as written; the instruction is still complete. */
export interface ParsedStop {
  readonly stop: StopInstruction;
  readonly note: string | null;
}

const MAX_COMMAND = 2048;
const SIGNALS: Readonly<Record<string, StopSignal>> = {
  C: 'SIGINT',
  '\\': 'SIGQUIT',
  INT: 'SIGINT',
  TERM: 'SIGTERM',
  QUIT: 'SIGQUIT',
  HUP: 'SIGHUP',
  ABRT: 'SIGABRT',
  KILL: 'SIGKILL',
};

/**
 *     stop    = "^" signal / command
 *     signal  = "C" / "\" / [ "SIG" ] ( "INT" / "TERM" / "QUIT" / "HUP" / "ABRT" / "KILL" )    any case
 *     command = one line for the console, 1 to 2,048 characters
 *
 * Wings sends SIGKILL for any other text after the caret and for an empty stop, which loses unsaved state: here it is
 * SIGTERM with a note. `^^C`, a frequent mistake in eggs, is `^C`.
 */
export function parseStop(text: string): Parsed<ParsedStop> {
  const trimmed = text.trim();
  if (trimmed === '') {
    return parsed({
      stop: TERM,
      note: 'says nothing of how to stop: SIGTERM is sent',
    });
  }
  if (!trimmed.startsWith('^')) return parseCommand(trimmed);
  const form = trimmed.replace(/^\^+/, '').toUpperCase().replace(/^SIG/, '');
  const signal = Object.hasOwn(SIGNALS, form) ? SIGNALS[form] : undefined;
  if (signal !== undefined) return parsed({ stop: { kind: 'signal', signal }, note: null });
  return parsed({
    stop: TERM,
    note: `"${trimmed.slice(0, 24).replace(/[^\x20-\x7e]/g, '?')}" is no known signal: SIGTERM is sent`,
  });
}

const TERM: StopInstruction = { kind: 'signal', signal: 'SIGTERM' };

function parseCommand(command: string): Parsed<ParsedStop> {
  if (command.length > MAX_COMMAND) {
    return failed(`a stop command has at most ${MAX_COMMAND} characters`);
  }
  if (/[\p{Cc}\u2028\u2029]/u.test(command)) {
    return failed('a stop command is one line without control characters');
  }
  return parsed({ stop: { kind: 'command', command }, note: null });
}
