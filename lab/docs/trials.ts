/**
 * How a block of commands is tried: pasted by a test, or why none does. Its `portcullis` lines are read in any case.
 */
export type Trial =
  | { readonly test: string; readonly named: string }
  | { readonly untried: string };

const README = 'lab/system/first-start/readme.test.ts';
const TWO_COMMANDS = 'lab/system/machines/two-commands.test.ts';
/** It pastes the blocks in the order of its tests, on one fresh host. */
const PASTED = 'lab/system/docs/pages.test.ts';

const pasted = (id: string): readonly [string, Trial] => [id, { test: PASTED, named: `'${id}'` }];

/** Trials by the identity of each block (pages.ts). */
export const TRIALS: ReadonlyMap<string, Trial> = new Map<string, Trial>([
  ['README.md#Two commands', { test: README, named: 'Two commands: starts everything' }],
  ['README.md#A first call', { test: README, named: 'A first call: every command works' }],
  ['README.md#A first call (2)', { test: README, named: 'A first call: every command works' }],
  ['README.md#Enforcing', { test: README, named: 'Enforcing: the same installation' }],
  ['README.md#Describe a fleet', { test: README, named: 'Describe a fleet: the example' }],
  [
    'CONTRIBUTING.md#Migrations and tags',
    {
      untried:
        'makes a fixture for minutes, as root; lab/system/upgrade starts on those that are there',
    },
  ],
  [
    'CONTRIBUTING.md#Set up',
    { untried: 'the tests themselves and the checks, which CI runs by the same scripts' },
  ],
  [
    'docs/testing.md#One test',
    { untried: 'tests within a test; each filter names files, which is tried' },
  ],
  [
    'docs/adding-an-endpoint.md#Before it is done',
    { untried: 'the checks and the fuzzer, which CI runs, and a program of the registry' },
  ],
  [
    'docs/command.md#The command for callers',
    { test: 'caller/package.test.ts', named: 'installs as a package of its own' },
  ],
  pasted('caller/README.md#The portcullis command'),
  pasted('docs/command.md#Signing in'),
  pasted('docs/command.md#Rules'),
  pasted('docs/cookbook.md#Cookbook of the API'),
  pasted('docs/cookbook.md#Cookbook of the API (2)'),
  pasted('docs/filters/README.md#Settings'),
  pasted('docs/attacks.md#Records'),
  pasted('docs/from-first-start-to-fleet-file.md#From the first start to a fleet file'),
  pasted('docs/from-first-start-to-fleet-file.md#A lost key'),
  pasted('docs/operator-api.md#The key'),
  [
    'docs/operator-api.md#An order',
    { test: 'caller/commands/operator.test.ts', named: 'the order of the docs works as it stands' },
  ],
  [
    'docs/game-servers.md#With a fleet file',
    { untried: `installs Docker and makes an image; ${PASTED} pastes the rest of it` },
  ],
  pasted('docs/game-servers.md#With a fleet file (2)'),
  [
    'docs/game-servers.md#With a fleet file (3)',
    { untried: 'starts a server in Docker; the README has the same commands for its first server' },
  ],
  [
    'docs/game-servers.md#Files',
    {
      untried:
        'needs the server of the section before; caller/commands/files.test.ts runs each of the commands',
    },
  ],
  [
    'docs/game-servers.md#Ports that people add',
    {
      untried:
        'needs a server with a limit of ports; caller/commands/servers/ports.test.ts runs each of the commands',
    },
  ],
  [
    'docs/game-servers.md#SFTP',
    {
      untried:
        'needs the server of a section before; caller/commands/servers/sftp.test.ts runs the command',
    },
  ],
  [
    'docs/operating.md#As a package',
    { untried: 'apt changes the machine; lab/soak/package.test.ts installs the package there' },
  ],
  [
    'docs/operating.md#Containers',
    { untried: 'builds images for minutes, from a registry; lab/hostile/chart.test.ts reads them' },
  ],
  [
    'docs/operating.md#Separate processes',
    {
      untried: 'needs a PostgreSQL of another host; lab/system/upgrade has each process on its own',
    },
  ],
  [
    'docs/operating.md#Separate processes (2)',
    { untried: 'needs Docker; lab/system/upgrade/upgrade.test.ts runs a node by its credential' },
  ],
  pasted('docs/operating.md#Many hosts'),
  [
    'docs/operating.md#Many hosts (2)',
    { test: TWO_COMMANDS, named: 'has a live edge on the second' },
  ],
  pasted('docs/operating.md#Many hosts (3)'),
  pasted('docs/operating.md#Many hosts (4)'),
  [
    'docs/operating.md#Many hosts (5)',
    { untried: 'needs a PostgreSQL of another host; lab/system/machines runs these parts' },
  ],
  [
    'docs/operating.md#TLS and proxies',
    { test: 'lab/system/first-start/tls-auto.test.ts', named: '--tls-auto' },
  ],
  pasted('docs/operating.md#Backup and restore'),
  pasted('docs/operating.md#Backup and restore (2)'),
  pasted('docs/operating.md#Which addresses are attacked'),
  pasted('docs/operating.md#Upgrade'),
  pasted('docs/operating.md#Upgrade (2)'),
  pasted('docs/operating.md#Upgrade (3)'),
]);
