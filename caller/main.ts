import { addCompletion } from './commands/completion.ts';
import { CALLER_COMMANDS } from './groups.ts';
import manifest from './package.json' with { type: 'json' };
import { runMain } from './program.ts';

await runMain({
  description: 'Firewall, attacks and game servers of a Portcullis, with an API key.',
  version: manifest.version,
  groups: { 'Commands:': CALLER_COMMANDS, 'Other:': [addCompletion] },
});
