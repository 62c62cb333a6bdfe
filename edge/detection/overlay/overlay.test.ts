import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type MitigationAction,
  renderAction,
} from '@portcullis/core/attacks/mitigation/actions.ts';
import type { MitigationMode } from '@portcullis/core/attacks/detector/scope-settings.ts';
import {
  type ControlPolicy,
  OVERLAY_TTL_MS,
  type OverlayEntry,
  type OverlayFacts,
  stepOverlay,
} from './overlay.ts';

const A = '203.0.113.10';
const SAFE = ['198.51.100.0/24'];
const DNS: MitigationAction = { kind: 'reflector', reflector: 'dns' };
const NTP: MitigationAction = { kind: 'reflector', reflector: 'ntp' };
const PROXY: MitigationAction = { kind: 'filter', type: 'tcp-syn-proxy', port: 443 };

/** The mitigations of control. */
function control(...actions: readonly MitigationAction[]): ControlPolicy {
  const rendered = actions.map((action) =>
    renderAction(action, { ref: 'mitigation:7', mode: 'enforce', safelist: SAFE }),
  );
  return {
    mitigations: rendered.flatMap((one) => (one.part === 'mitigation' ? [one.value] : [])),
    filters: rendered.flatMap((one) => (one.part === 'filter' ? [one.value] : [])),
  };
}
function facts(change: Partial<OverlayFacts> & { mode?: MitigationMode } = {}): OverlayFacts {
  const { mode = 'on', ...rest } = change;
  return {
    nowMs: 0,
    controlMs: null,
    attacks: new Map([[A, [DNS]]]),
    ended: new Set(),
    cancelled: new Set(),
    scopeOf: () => ({ mitigation: mode, safelist: SAFE }),
    controlPolicyOf: () => null,
    ...rest,
  };
}
const started = (): readonly OverlayEntry[] => stepOverlay([], facts());
const quiet = { attacks: new Map<string, readonly MitigationAction[]>() };

test('an edge mitigates only while control is away, and never with mitigation off', () => {
  assert.deepEqual(started(), [
    { subject: A, actions: [DNS], mode: 'enforce', safelist: SAFE, expiresMs: OVERLAY_TTL_MS },
  ]);
  assert.deepEqual(stepOverlay([], facts({ controlMs: 0 })), []);
  assert.deepEqual(stepOverlay([], facts({ mode: 'off' })), []);
  assert.deepEqual(stepOverlay(started(), facts({ mode: 'off' })), []);
});

test('an observed scope counts instead of dropping, also after a change to observe', () => {
  const [observed] = stepOverlay([], facts({ mode: 'observe' }));
  assert.deepEqual([observed?.mode, observed?.actions], ['observe', [DNS]]);
  for (const change of [{}, quiet, { controlMs: 1_000 }]) {
    const [later] = stepOverlay(started(), facts({ mode: 'observe', ...change }));
    assert.equal(later?.mode, 'observe');
  }
});

test('unchanged facts return the same array', () => {
  const before = started();
  assert.equal(stepOverlay(before, facts({ nowMs: 1_000 })), before);
  assert.equal(stepOverlay(before, facts({ nowMs: 1_000, controlMs: 10, ...quiet })), before);
});

test('the end of the attack withdraws its mitigations', () => {
  const ended = new Set([A]);
  assert.deepEqual(stepOverlay(started(), facts({ ended, ...quiet })), []);
  assert.deepEqual(stepOverlay(started(), facts({ ended, controlMs: 5, ...quiet })), []);
});

test('a cancelled attack gets no mitigations and loses those it has', () => {
  const cancelled = new Set([A]);
  assert.deepEqual(stepOverlay([], facts({ cancelled })), []);
  assert.deepEqual(stepOverlay(started(), facts({ cancelled })), []);
  assert.deepEqual(stepOverlay(started(), facts({ cancelled, controlMs: 0, ...quiet })), []);
  assert.equal(stepOverlay([], facts({ cancelled: new Set(['203.0.113.11']) })).length, 1);
});

test('mitigations are renewed during the attack and expire after it', () => {
  const nowMs = OVERLAY_TTL_MS / 2 + 1;
  const [renewed] = stepOverlay(started(), facts({ nowMs }));
  assert.equal(renewed?.expiresMs, nowMs + OVERLAY_TTL_MS);
  const late = { nowMs: OVERLAY_TTL_MS, ...quiet };
  assert.equal(stepOverlay(started(), facts({ ...late, nowMs: OVERLAY_TTL_MS - 1 })).length, 1);
  assert.deepEqual(stepOverlay(started(), facts(late)), []);
});

test('control takes over on its return: with its own mitigations, or after a while', () => {
  const there = facts({ controlMs: 14_999 });
  assert.equal(stepOverlay(started(), there).length, 1);
  assert.deepEqual(stepOverlay(started(), { ...there, controlMs: 15_000 }), []);
  const own = facts({ controlMs: 0, controlPolicyOf: () => control(NTP) });
  assert.deepEqual(stepOverlay(started(), own), []);
});

test('mitigations of control are not repeated, and missing ones are added', () => {
  const left = facts({ controlPolicyOf: () => control(DNS, PROXY) });
  assert.deepEqual(stepOverlay([], left), []);
  const attacks = new Map([[A, [DNS, NTP, PROXY]]]);
  assert.deepEqual(stepOverlay([], { ...left, attacks })[0]?.actions, [NTP]);
  // Marking is not equal to dropping.
  const { mitigations, filters } = control(DNS);
  const observed = {
    filters,
    mitigations: mitigations.map((one) => ({ ...one, mode: 'observe' as const })),
  };
  assert.deepEqual(stepOverlay([], facts({ controlPolicyOf: () => observed }))[0]?.actions, [DNS]);
});

test('a source added to the safelist during the attack is spared', () => {
  const wider = { mitigation: 'on', safelist: [...SAFE, '192.0.2.1'] } as const;
  for (const change of [{}, quiet]) {
    const [entry] = stepOverlay(started(), facts({ scopeOf: () => wider, ...change }));
    assert.deepEqual(entry?.safelist, wider.safelist);
  }
});

test('a change of the vector changes the mitigations', () => {
  const turned = stepOverlay(started(), facts({ nowMs: 5, attacks: new Map([[A, [NTP]]]) }));
  assert.deepEqual(
    turned.map(({ actions, expiresMs }) => [actions, expiresMs]),
    [[[NTP], OVERLAY_TTL_MS + 5]],
  );
});

test('the number of mitigated subjects is bounded', () => {
  const attacks = new Map(
    Array.from({ length: 1_000 }, (_, n) => [`10.0.${n >> 8}.${n & 255}`, [DNS]]),
  );
  const entries = stepOverlay([], facts({ attacks }));
  assert.equal(entries.length, 256);
  assert.equal(stepOverlay(entries, facts({ attacks })), entries);
});
