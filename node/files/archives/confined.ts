import { UNPRIVILEGED_ACCOUNTS } from '../../server-folder/account-range.ts';
import { confine } from './confinement.ts';

/**
 * The beginning of a program that reads a hostile archive: takes every right from the process, and becomes the program that
 * its arguments name.
 */
const [program = '', ...args] = process.argv.slice(2);
/** No core file, no byte in a file, few open files, half an hour of a processor, and a GiB. */
const LIMITS = 'ulimit -c 0; ulimit -f 0; ulimit -n 16; ulimit -t 1800; ulimit -v 1048576';

confine(UNPRIVILEGED_ACCOUNTS.converter);
// By a shell, because a limit of memory would end Node.js itself.
const words = ['sh', '-c', `${LIMITS}; exec "$0" "$@"`, program, ...args];
process.execve?.('/bin/sh', words, { LC_ALL: 'C.UTF-8' });
