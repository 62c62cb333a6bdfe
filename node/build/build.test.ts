import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import type { ServerBuild } from '@portcullis/link/messages/node.ts';
import { EngineError } from '../engine/engine.ts';
import { INSTALLED_EGG, uuidOf } from '../testing/eggs.ts';
import { TestHost } from '../testing/host.ts';

describe('a build', () => {
  it('fails visibly by the exit code of its install, and is repeated only on request', async (t) => {
    const host = new TestHost(t);
    host.engine.install = async (_spec, output) => {
      output('downloading\nno space left\n');
      return 7;
    };
    const uuid = await host.server(INSTALLED_EGG);
    const { state, reason, log } = await host.built(uuid);
    assert.equal(state, 'failed');
    assert.match(reason ?? '', /exit code 7/);
    assert.match(log ?? '', /downloading\nno space left/);
    const refused = await host.power(uuid, 'start');
    assert.match(refused?.kind === 'refused' ? refused.reason : '', /not built.*exit code 7/);
    await host.restart();
    await host.built(uuid);
    assert.equal(host.count('runInstall', uuid), 0);
    host.engine.install = async () => 0;
    await host.servers(1, INSTALLED_EGG, { buildEpoch: 2 });
    const again = await host.control.reported(uuid, ({ epoch }) => epoch === 2);
    assert.notEqual(again.state, 'failed');
    await host.control.reported(uuid, (build) => build.epoch === 2 && build.state === 'built');
  });

  it('shows its log while it runs and after', async (t) => {
    const host = new TestHost(t);
    const end = Promise.withResolvers<void>();
    host.engine.install = async (_spec, output) => {
      output('downloading\n');
      await end.promise;
      output('done\n');
      return 0;
    };
    const building = host.server(INSTALLED_EGG);
    const says = (text: string) => (build: { readonly log: string | null }) =>
      build.log?.includes(text) === true;
    const running = await host.control.reported(uuidOf(1), says('downloading'));
    assert.equal(running.state, 'building');
    end.resolve();
    assert.match((await host.built(await building)).log ?? '', /downloading\ndone/);
  });

  it('fails if the install left no file that the startup names', async (t) => {
    const host = new TestHost(t);
    host.engine.install = async () => 0;
    const uuid = await host.server({ ...INSTALLED_EGG, startup: './game -jar {{NAME}} x' });
    const { state, reason } = await host.built(uuid);
    assert.deepEqual(
      [state, reason],
      ['failed', 'The install left no ./game, which the startup names.'],
    );
  });

  it('is repeated after its agent ended during it', async (t) => {
    const host = new TestHost(t);
    const started = Promise.withResolvers<void>();
    host.engine.install = (_spec, _output, signal) => {
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new EngineError('aborted', 'Called off.')));
      });
    };
    const building = host.server(INSTALLED_EGG);
    await started.promise;
    const report = await host.control.reported(uuidOf(1), ({ state }) => state === 'building');
    assert.equal(report.epoch, 1);
    await host.restart();
    assert.equal((await host.built(await building)).state, 'built');
    assert.equal(host.count('runInstall', uuidOf(1)), 1);
  });

  it('is replaced by one of a later epoch, while it runs or just as it ends', async (t) => {
    for (const endsItself of [false, true]) {
      const host = new TestHost(t);
      const started = Promise.withResolvers<void>();
      const end = Promise.withResolvers<number>();
      host.engine.install = (_spec, _output, signal) => {
        started.resolve();
        if (endsItself) return end.promise;
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new EngineError('aborted', 'Called off.')));
        });
      };
      const building = host.server(INSTALLED_EGG);
      await started.promise;
      host.engine.install = async () => 0;
      const renewed = host.servers(1, INSTALLED_EGG, { buildEpoch: 2 });
      if (endsItself) end.resolve(0);
      const isNew = ({ epoch, state }: ServerBuild) => epoch === 2 && state === 'built';
      await host.control.reported(uuidOf(1), isNew);
      await Promise.all([building, renewed]);
    }
  });

  it('is stopped and fails with its output if its install fills the disk', async (t) => {
    const host = new TestHost(t, { measurePauseMs: 20 });
    host.engine.install = (spec, output, signal) => {
      output('writing\n');
      writeFileSync(join(spec.folder, 'world'), Buffer.alloc(80 * 1024 * 1024));
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new EngineError('aborted', 'Called off.')));
      });
    };
    const { state, reason, log } = await host.built(
      await host.server(INSTALLED_EGG, {
        limits: { ...UNLIMITED, memory: 512, cpu: 100, disk: 1 },
      }),
    );
    assert.equal(state, 'failed');
    assert.match(reason ?? '', /8\d MiB on the disk and may have 1 MiB.*install was ended/);
    assert.match(log ?? '', /writing/);
  });

  it('stops a running server first and does not start while it runs', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server(INSTALLED_EGG);
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    const states: (string | undefined)[] = [];
    host.engine.install = async () => {
      states.push((await host.engine.inspect(uuid))?.status);
      return 0;
    };
    await host.servers(1, INSTALLED_EGG, { buildEpoch: 2 });
    await host.control.reported(uuid, (build) => build.epoch === 2 && build.state === 'built');
    assert.deepEqual(states, ['exited']);
  });

  it('names a missing image', async (t) => {
    const host = new TestHost(t);
    host.engine.registry.clear();
    const { state, reason } = await host.built(await host.server());
    assert.deepEqual([state, reason], ['failed', 'The image game:1 is not there.']);
  });
});

describe('the files before a build', () => {
  const filesOf = (folder: string): string[] => readdirSync(folder).toSorted();

  it('stay, are one folder of the bin, or are gone with the bin, as was asked for', async (t) => {
    const host = new TestHost(t);
    let seen: string[] = [];
    host.engine.install = async ({ folder }) => {
      seen = filesOf(folder);
      writeFileSync(join(folder, 'game'), 'new');
      return 0;
    };
    const uuid = await host.server(INSTALLED_EGG);
    const folder = join(host.stateDir, 'servers', uuid);
    mkdirSync(join(folder, 'world'));
    writeFileSync(join(folder, 'world', 'level'), 'mine');
    const build = async (buildEpoch: number, emptyFiles: 'bin' | 'delete' | null) => {
      await host.servers(1, INSTALLED_EGG, { buildEpoch, emptyFiles });
      await host.control.reported(
        uuid,
        ({ epoch, state }) => epoch === buildEpoch && state === 'built',
      );
    };
    await build(2, null);
    assert.deepEqual(seen, ['game', 'world']);
    await build(3, 'bin');
    assert.deepEqual(seen, ['.portcullis']);
    const bin = join(folder, '.portcullis', 'bin');
    const [item = ''] = filesOf(bin);
    assert.deepEqual(filesOf(bin).length, 1);
    assert.deepEqual(filesOf(join(bin, item, 'before-install-3')), ['game', 'world']);
    assert.equal(
      readFileSync(join(bin, item, 'before-install-3', 'world', 'level'), 'utf8'),
      'mine',
    );
    await build(4, 'bin');
    assert.equal(filesOf(bin).length, 2, 'each install has an item of its own');
    await build(5, 'delete');
    assert.deepEqual(seen, []);
    assert.deepEqual(filesOf(folder), ['game']);
  });

  it('are taken again by a build that is repeated, so that a kill in the middle leaves none', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server(INSTALLED_EGG);
    const folder = join(host.stateDir, 'servers', uuid);
    writeFileSync(join(folder, 'old'), 'old');
    const started = Promise.withResolvers<void>();
    host.engine.install = (spec, _output, signal) => {
      writeFileSync(join(spec.folder, 'half'), 'half');
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new EngineError('aborted', 'Called off.')));
      });
    };
    const building = host.servers(1, INSTALLED_EGG, { buildEpoch: 2, emptyFiles: 'bin' });
    await started.promise;
    await host.restart();
    await building;
    await host.control.reported(uuid, ({ epoch, state }) => epoch === 2 && state === 'built');
    assert.deepEqual(filesOf(folder), ['.portcullis']);
    assert.equal(readdirSync(join(folder, '.portcullis', 'bin')).length, 2);
  });

  it('are not moved where the game put something in the way, and the build says so', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server(INSTALLED_EGG);
    const folder = join(host.stateDir, 'servers', uuid);
    const outside = join(host.stateDir, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, join(folder, '.portcullis'));
    writeFileSync(join(folder, 'old'), 'old');
    void host.servers(1, INSTALLED_EGG, { buildEpoch: 2, emptyFiles: 'bin' });
    const failed = await host.control.reported(
      uuid,
      ({ epoch, state }) => epoch === 2 && state === 'failed',
    );
    assert.match(failed.reason ?? '', /cannot be moved away/);
    assert.deepEqual([readdirSync(outside), filesOf(folder)], [[], ['.portcullis', 'old']]);
  });
});
