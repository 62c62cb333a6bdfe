import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { renderService, type Role } from '@portcullis/cli/agents/service-unit.ts';
import { skipUnless } from '../requirements.ts';

const LAUNCHER = '/usr/lib/portcullis/portcullis';
/** The exposure that systemd gives each unit, 0 to 10: a line that goes raises it. */
const AT_MOST: Partial<Record<Role, number>> = {
  control: 1.7,
  collector: 5.2,
  edge: 6.2,
  node: 6.5,
};

describe('the units of an installed package', { skip: skipUnless(['systemd']) }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-units-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [role, limit] of Object.entries(AT_MOST) as [Role, number][]) {
    it(`expose ${role} no more than ${limit}, and have no line that systemd does not know`, () => {
      const unit = join(folder, `portcullis-${role}.service`);
      writeFileSync(unit, renderService(role, [], LAUNCHER));
      const analyze = (...args: readonly string[]): string =>
        execFileSync('systemd-analyze', [...args, unit], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        });
      const said = analyze('security', '--offline=true', '--no-pager');
      const score = Number(/level for .*: ([\d.]+)/.exec(said)?.[1]);
      assert.ok(score <= limit, said);
    });
  }

  it('mount the folders of servers where the node may not, in the view of mounts that Docker has', () => {
    const unit = renderService('node', ['--data', '/srv/a b'], LAUNCHER);
    const before = '"/usr/lib/portcullis/portcullis" "node" "--data" "/srv/a b"';
    assert.ok(unit.includes(`ExecStartPre=-+${before} "mount"\nExecStart=${before}\n`), unit);
    assert.doesNotMatch(renderService('edge', [], LAUNCHER), /ExecStartPre/);
  });

  it('confine nothing in a checkout, which may be closed to other accounts', () => {
    const unit = renderService('control', [], '/root/portcullis/portcullis');
    assert.doesNotMatch(unit, /User=|ProtectHome/);
  });
});
