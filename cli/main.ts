import { runMain } from '@portcullis/caller/program.ts';
import { PROGRAM } from './program.ts';

// As root, processes of other accounts must enter the folders that it makes, whatever the shell's umask is. What is
// secret has a mode of its own.
if (process.getuid?.() === 0) process.umask(0o022);
await runMain(PROGRAM);
