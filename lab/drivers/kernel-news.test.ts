import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { type LinkEvent, watchLinks } from '@portcullis/dataplane/kernel/netlink/links.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { openRuleset, type Ruleset } from '@portcullis/dataplane/nftables/ruleset.ts';
import { watched } from '@portcullis/dataplane/nftables/watch.ts';
import { type Namespace, Network } from '../stack/netns.ts';
import { skipUnless } from '../requirements.ts';
import { eventually } from '../system/stack-fixture.ts';

/** More than the receive buffer of a watch socket holds while unread: one mebibyte, and four. */
const [MANY_LINK_NEWS, MANY_ELEMENTS] = [4_000, 60_000];
const TABLE = 'inet portcullis';

describe('kernel notifications', { skip: skipUnless(['root', 'netns', 'nft']) }, () => {
  const network = new Network('news');
  let host: Namespace;
  before(() => {
    host = network.create('host');
  });
  after(() => network.destroy());
  beforeEach(() => host.run('nft', 'flush', 'ruleset'));

  /** Device notifications from now on. */
  function followLinks(t: TestContext): string[] {
    const reported: string[] = [];
    const watch = host.within(() => watchLinks((event) => reported.push(inWords(event))));
    t.after(() => watch.stop());
    return reported;
  }

  /** Notifications about our table from now on. */
  function followTable(t: TestContext): { driver: Driver; reported: string[] } {
    const reported: string[] = [];
    const rules: Ruleset = host.within(openRuleset);
    const driver = watched(createNftDriver({ command: host.command('nft') }), rules);
    const watch = host.within(() => driver.watch((what) => reported.push(what)));
    t.after(() => {
      watch?.stop();
      rules.close();
    });
    return { driver, reported };
  }

  /** Disables polling from now on, so that every result comes from a notification. */
  function lookAtNothing(t: TestContext): void {
    t.mock.timers.enable({ apis: ['setInterval'] });
  }

  it('of devices comes by a signal, without looking', async (t) => {
    lookAtNothing(t);
    const reported = followLinks(t);
    for (const name of ['one', 'two', 'three']) {
      host.run('ip', 'link', 'add', name, 'type', 'bridge');
      await eventually('its creation is reported', async () => reported.includes(`there ${name}`));
      host.run('ip', 'link', 'set', name, 'name', `${name}b`);
      await eventually('its new name too', async () =>
        reported.includes(`renamed ${name} ${name}b`),
      );
      host.run('ip', 'link', 'del', `${name}b`);
      await eventually('and its end', async () => reported.includes(`gone ${name}b`));
    }
  });

  it('of what a device belongs to comes by a signal too, and changes no name', async (t) => {
    lookAtNothing(t);
    host.run('ip', 'link', 'add', 'bridge', 'type', 'bridge');
    host.run('ip', 'link', 'add', 'port', 'type', 'veth', 'peer', 'name', 'other');
    const reported: string[] = [];
    let stirred = 0;
    const watch = host.within(() =>
      watchLinks(
        (event) => reported.push(inWords(event)),
        () => stirred++,
      ),
    );
    t.after(() => watch.stop());
    for (const change of [['master', 'bridge'], ['nomaster']]) {
      const before = stirred;
      host.run('ip', 'link', 'set', 'port', ...change);
      await eventually('its creation is reported', async () => stirred > before);
    }
    assert.deepEqual(reported, []);
    for (const name of ['bridge', 'port']) host.run('ip', 'link', 'del', name);
  });

  it('of our table comes by a signal, without looking', async (t) => {
    lookAtNothing(t);
    const { driver, reported } = followTable(t);
    await driver.apply(`add table ${TABLE}\nadd chain ${TABLE} judge\n`);
    host.run('nft', 'add', 'rule', ...TABLE.split(' '), 'judge', 'accept');
    await eventually('a rule is reported', async () => /added a rule/.test(reported.join()));
    host.run('nft', 'delete', 'table', ...TABLE.split(' '));
    await eventually('its end too', async () => /deleted the table/.test(reported.join()));
  });

  it('of devices that was lost is made up for by the list of all', async (t) => {
    for (const name of ['stays', 'leaves', 'changes'])
      host.run('ip', 'link', 'add', name, 'type', 'bridge');
    const reported = followLinks(t);
    // Nothing is read until all changes are made.
    const noise = Array.from(
      { length: MANY_LINK_NEWS },
      (_, n) => `link set stays ${n % 2 === 0 ? 'up' : 'down'}`,
    );
    const deeds = [
      'link del leaves',
      'link set changes name changed',
      'link add comes type bridge',
    ];
    const [ip, ...args] = host.command('ip', '-batch', '-');
    execFileSync(ip, args, { input: [...noise, ...deeds].join('\n') });
    const wanted = ['gone leaves', 'renamed changes changed', 'there comes'];
    await eventually('all of it is known', async () =>
      wanted.every((one) => reported.includes(one)),
    );
    assert.deepEqual(reported.toSorted(), wanted.toSorted(), 'and nothing else was reported');
  });

  it('of our table that was lost leaves it in doubt, whatever was read of it', async (t) => {
    const { driver, reported } = followTable(t);
    await driver.apply(`add table ${TABLE}\nadd set ${TABLE} sources { type ipv4_addr; }\n`);
    const elements = Array.from(
      { length: MANY_ELEMENTS },
      (_, n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
    );
    const noise = `table ip somebody { set sources { type ipv4_addr; elements = { ${elements.join()} }; }; }`;
    const [nft, ...args] = host.command('nft', '-f', '-');
    execFileSync(nft, args, { input: `${noise}\ndelete set ${TABLE} sources\n` });
    await eventually('it is in doubt', async () => reported.length > 0);
    assert.deepEqual(reported, ['changed more than could be followed']);
  });
});

function inWords(event: LinkEvent): string {
  const { kind, name } = event;
  return kind === 'renamed' ? `${kind} ${event.before} ${name}` : `${kind} ${name}`;
}
