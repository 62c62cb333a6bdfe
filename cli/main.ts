import { runMain } from '@portcullis/caller/program.ts';
import { PROGRAM } from './program.ts';

await runMain(PROGRAM);
