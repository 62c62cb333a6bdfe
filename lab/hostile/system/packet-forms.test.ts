import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { CLIENT, EDGE_DEVICE, SENTINELS, SERVER } from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import {
  eventually,
  startStackFixture,
  type StackFixture,
  whyNot,
} from '../../system/stack-fixture.ts';
import { packetForms, plainForm, type PacketForm } from './packet-forms.ts';

/** Nothing else at the server has it. */
const PORT = 28_015;
const DATAGRAMS = {
  4: { source: CLIENT[4], destination: SERVER[4], port: PORT },
  6: { source: CLIENT[6], destination: SERVER[6], port: PORT },
} as const;
/** A socket as any game has: it gets what the kernel delivers. */
const LISTENER = `import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.bind(("::", ${PORT}))
print("ready", flush=True)
while True: print(s.recv(2048).rstrip(b"\\0").decode(), flush=True)`;

for (const earlyDrop of [true, false]) {
  describe(`a denied port, ${earlyDrop ? 'behind the early drop' : 'by nftables alone'}`, {
    skip: whyNot(),
  }, () => {
    let fixture: StackFixture;
    let listener: Listener;
    before(async () => {
      fixture = await startStackFixture('forms', { earlyDrop });
      listener = await Listener.start(fixture.internet.server);
    });
    after(async () => {
      listener.stop();
      await fixture.stop();
    });

    it('is delivered no packet in any form: options, fragments, tags, tunnels, extension headers', async (t) => {
      const { stack, internet } = fixture;
      const link = internet.edge.run('cat', `/sys/class/net/${EDGE_DEVICE}/address`).trim();
      const forms = packetForms(link, DATAGRAMS[4], DATAGRAMS[6]);
      assert.ok(forms.length >= 28, `${forms.length} forms`);
      const open = await listener.delivered(internet.client, link, forms);
      t.diagnostic(`without a rule: ${[...open].join(', ')}`);
      // Some forms no kernel delivers, whoever filters: a tag of no device, a source of its own.
      assert.ok(open.size >= 15, [...open].join(', '));
      for (const address of [SERVER[4], SERVER[6]]) {
        const deny = { action: 'deny', protocol: 'udp', destination_port: String(PORT) } as const;
        await stack.api.createRule(address, deny);
      }
      const denied = await listener.delivered(internet.client, link, forms);
      assert.deepEqual([...denied], []);
    });
  });
}

/** The socket at the server, and what it has got. */
class Listener {
  readonly #child: ChildProcess;
  readonly #got: string[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(server: Namespace): Promise<Listener> {
    const child = server.spawn(['python3', '-c', LISTENER], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const listener = new Listener(child);
    const lines = createInterface({ input: child.stdout as Readable });
    lines.on('line', (line) => listener.#got.push(line));
    const ended = once(child, 'exit').then(() => assert.fail('the socket did not open'));
    await Promise.race([once(lines, 'line'), ended]);
    ended.catch(() => {});
    return listener;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  /** The names of the forms that got here. Frames keep their order, so all have that will, once the last has. */
  async delivered(
    from: Namespace,
    to: string,
    forms: readonly PacketForm[],
  ): Promise<ReadonlySet<string>> {
    this.#got.length = 0;
    const sentinel = { source: CLIENT[4], destination: SENTINELS.server[4], port: PORT };
    const end = plainForm(to, 'the end', sentinel);
    await sendFrames(
      from,
      [...forms, end].flatMap(({ frames }) => frames),
    );
    await eventually('the last frame arrives', async () => this.#got.includes(end.name));
    return new Set(this.#got.filter((name) => name !== end.name));
  }
}

async function sendFrames(from: Namespace, frames: readonly Buffer[]): Promise<void> {
  const script = join(import.meta.dirname, '..', '..', 'differential', 'send.py');
  const sender = from.spawn(['python3', script, 'eth0'], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(sender, 'exit');
  const input = frames.flatMap((frame) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(frame.length);
    return [length, frame];
  });
  sender.stdin?.end(Buffer.concat(input));
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, 'send.py');
}
