import { createInterface } from 'node:readline/promises';

/** Asks a question on the terminal, which only y or yes answers with yes. */
export async function confirmOnTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    return /^\s*y(?:es)?\s*$/i.test(answer);
  } catch (error) {
    // Ctrl-C and Ctrl-D.
    if (error instanceof Error && error.name === 'AbortError') return false;
    throw error;
  } finally {
    terminal.close();
  }
}
