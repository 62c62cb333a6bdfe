import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createInternet, type Internet } from '../../stack/internet.ts';
import { defaultFleet, startStack, type Stack } from '../../stack/stack.ts';
import { eventually, whyNot } from '../../system/stack-fixture.ts';

/** An account of nobody's: a web application of the same host, or a person with a shell. */
const STRANGER = ['setpriv', '--reuid=12345', '--regid=12345', '--clear-groups'] as const;
/**
 * Where any account may look: the door of agents, which may run as any account and show their credential, and the
 * compiled code of the node, which is the same on every machine.
 */
const OPEN =
  /^(?:node-link|node-link\/control\.sock|node\/compiled(?:\/\S+)?)(?: reads| lists| connects)+$/;
/** Tries each path of stdin: prints those that it can read, list, write to or connect to. */
const TRY = `use Fcntl; use Socket; $/ = "\\0";
while (<STDIN>) { chomp; my ($path, @done) = $_;
  for (["reads", O_RDONLY], ["writes", O_WRONLY]) {
    push @done, $_->[0] if sysopen my $file, $path, $_->[1] | O_NONBLOCK }
  push @done, "lists" if opendir my $folder, $path;
  socket my $socket, AF_UNIX, SOCK_STREAM, 0;
  push @done, "connects" if length $path < 108 && connect $socket, sockaddr_un $path;
  print "$path @done\\n" if @done }`;

describe('another account of the host', { skip: whyNot() }, () => {
  let internet: Internet;
  let stack: Stack;
  before(async () => {
    internet = createInternet('local');
    const fleet = `${defaultFleet()}nodes:\n  - { name: node-1 }\n`;
    stack = await startStack(internet, { fleet, args: ['--enforce', '--engine', 'process'] });
    await eventually('the node runs', async () =>
      everythingBelow(stack.dataDir).some((path) => path.endsWith('node/credential')),
    );
  });
  after(async () => {
    await stack.stop();
    internet.destroy();
  });

  it('reads, lists and writes nothing of the data directory, and connects only where agents of any account do', () => {
    const all = everythingBelow(stack.dataDir);
    for (const needed of [
      'edge/credential',
      'PG_VERSION',
      '.s.PGSQL.',
      'control.sock',
      'node/credential',
    ])
      assert.ok(
        all.some((path) => path.includes(needed)),
        `${needed} is not there`,
      );
    assert.deepEqual(attempts(all, stack.dataDir), []);
    // Where it may, it does.
    assert.deepEqual(attempts(['/etc/passwd', '/etc/shadow'], '/etc'), ['passwd reads']);
  });

  it('reaches no program or map that the edge left in the kernel', () => {
    const pins = join(stack.dataDir, '..', 'bpffs');
    const all = everythingBelow(pins);
    assert.ok(all.length > 3, 'the early drop has pins');
    assert.deepEqual(attempts(all, pins), []);
  });
});

function everythingBelow(folder: string): string[] {
  // What is renamed meanwhile makes it fail, after it has printed the rest.
  const { stdout } = spawnSync('find', [folder, '-mindepth', '1', '-print0'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split('\0').filter(Boolean);
}

/** Attempts that the stranger can do, by paths below the folder. */
function attempts(paths: readonly string[], folder: string): string[] {
  const [program, ...args] = [...STRANGER, '/usr/bin/perl', '-e', TRY];
  const ran = spawnSync(program ?? '', args, { input: paths.join('\0'), encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  const said = ran.stdout.split('\n').filter(Boolean);
  return said.map((line) => line.slice(folder.length + 1)).filter((line) => !OPEN.test(line));
}
