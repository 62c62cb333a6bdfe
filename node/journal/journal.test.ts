import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { NEW_MACHINE } from '@portcullis/core/game-servers/machine-state.ts';
import { uuidOf } from '../testing/eggs.ts';
import { Journal } from './journal.ts';
import { NEW_RECORD, type ServerRecord } from './record.ts';

const KILLS = 8;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-journal-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function quiet() {
  const errors: string[] = [];
  const error = (_fields: object, message: string): void => void errors.push(message);
  return { log: { debug() {}, info() {}, warn() {}, error }, errors };
}

describe('the journal of a node', () => {
  it('returns complete records, never older than an acknowledged one, after a kill at any point', async (t) => {
    const place = folder(t);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writer = spawn(process.execPath, [
        '--input-type=module-typescript',
        '--eval',
        writing(place),
      ]);
      let output = '';
      writer.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      while (output.split('\n').length < 20 + kill * 7) await once(writer.stdout, 'data');
      writer.kill('SIGKILL');
      await once(writer, 'close');
      const last = Number(output.trimEnd().split('\n').at(-1));
      const { log, errors } = quiet();
      const kept = new Journal(place, log).loadRecords().get(uuidOf(1));
      assert.ok(kept !== undefined && kept.machine.run >= last, `${kept?.machine.run} < ${last}`);
      assert.equal(kept.build.epoch, kept.machine.run);
      assert.deepEqual(errors, []);
    }
  });

  it('reports unreadable records and reads the others', async (t) => {
    const place = folder(t);
    const { log, errors } = quiet();
    const journal = new Journal(place, log);
    for (const number of [1, 2, 3]) await journal.saveRecord(uuidOf(number), NEW_RECORD);
    const file = (number: number): string =>
      join(place, 'journal', 'servers', `${uuidOf(number)}.json`);
    writeFileSync(file(1), '');
    writeFileSync(file(2), JSON.stringify({ ...NEW_RECORD, machine: { phase: 'odd' } }));
    assert.deepEqual([...journal.loadRecords()], [[uuidOf(3), NEW_RECORD]]);
    assert.equal(errors.length, 2);
    await journal.removeRecord(uuidOf(3));
    assert.equal(journal.loadRecords().size, 0);
  });

  it('restores every phase unchanged', async (t) => {
    const { log } = quiet();
    const journal = new Journal(folder(t), log);
    const phases: readonly ServerRecord['machine']['phase'][] = [
      { kind: 'offline' },
      { kind: 'launching', done: true },
      { kind: 'cancelling', how: 'kill', after: 'start' },
      { kind: 'starting' },
      { kind: 'running' },
      { kind: 'stopping', rung: 'term', acknowledged: true, after: 'start' },
      { kind: 'recovering', was: { kind: 'running' } },
    ];
    for (const phase of phases) {
      const kept: ServerRecord = {
        machine: { ...NEW_MACHINE, phase, crashAtMs: 1.5, attached: 2.5, problem: 'Odd.' },
        build: { epoch: 3, state: 'failed', reason: 'It failed.', log: 'a\nb' },
        launched: {
          done: [{ kind: 'text', pattern: 'ready' }],
          stop: { kind: 'signal', signal: 'SIGINT' },
          stopTimes: { termAfterMs: 1, killAfterMs: 2 },
          organisation: 'acme',
          parts: { '/variables/MOTD': '0123456789abcdef' },
        },
        bootId: 'boot',
      };
      await journal.saveRecord(uuidOf(1), kept);
      assert.deepEqual(journal.loadRecords().get(uuidOf(1)), kept);
    }
  });
});

/** Writes the record of one server repeatedly and reports each completed write. */
function writing(place: string): string {
  const from = (file: string): string => JSON.stringify(join(import.meta.dirname, file));
  return `
    import { Journal } from ${from('journal.ts')};
    import { NEW_RECORD } from ${from('record.ts')};
    const journal = new Journal(${JSON.stringify(place)}, console);
    let run = journal.loadRecords().get(${JSON.stringify(uuidOf(1))})?.machine.run ?? 0;
    for (;;) {
      run += 1;
      const machine = { ...NEW_RECORD.machine, run, problem: 'x'.repeat(run % 2000) };
      const build = { ...NEW_RECORD.build, epoch: run };
      await journal.saveRecord(${JSON.stringify(uuidOf(1))}, { ...NEW_RECORD, machine, build });
      process.stdout.write(run + '\\n');
    }`;
}
