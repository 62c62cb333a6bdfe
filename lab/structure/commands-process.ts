import { buildProgram } from '@portcullis/caller/program.ts';
import { PROGRAM } from '@portcullis/cli/program.ts';

/** A command with what it takes after its name. */
export interface Known {
  /** Such as `keys create`; empty: the program. */
  readonly name: string;
  readonly isGroup: boolean;
  /** Arguments at most. */
  readonly takes: number | null;
}

/** `commands-process.ts`: prints every command as a line of `Known`, null for any number of arguments. */
list(buildProgram(PROGRAM, false), '');

function list(command: ReturnType<typeof buildProgram>, name: string): void {
  const isVariadic = command.registeredArguments.some(({ variadic }) => variadic);
  const takes = isVariadic ? null : command.registeredArguments.length;
  const known: Known = { name, isGroup: command.commands.length > 0, takes };
  console.log(JSON.stringify(known));
  for (const one of command.commands)
    for (const word of [one.name(), ...one.aliases()]) list(one, `${name} ${word}`.trim());
}
