import { Subjects } from './subjects.ts';
import { floodOf, policiesOf } from './policies.ts';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
const few = { family: 4, addresses: 10_000, rules: 10, end: 'deny' } as const;
const s = new Subjects('exp');
const scopes = [{ scope: '10.0.0.0/16', ...DEFAULT_THRESHOLDS, mitigation: 'on', safelist: [], subject: true } as const];
try {
  const raw = s.rawDrop('native');

  process.env['NODE_OPTIONS'] = '--cpu-prof --cpu-prof-dir=/tmp/prof';
  const { target, edge } = await s.running(policiesOf(few), { scopes });
  const wide = await s.running(policiesOf({ ...few, openPorts: 9 }), { scopes });
  delete process.env['NODE_OPTIONS'];
  { const [b, c] = [performance.now(), edge.use().cpuMs]; await new Promise((r) => setTimeout(r, 8000)); console.log('idle', (edge.use().cpuMs - c) / (performance.now() - b) * 100); }
  for (const [name, t, e, destinations] of [['raw', raw, null, 10000], ['XDP', target, edge, 10000], ['one', target, edge, 1], ['nine', wide.target, wide.edge, 10000], ['raw', raw, null, 10000], ['XDP', target, edge, 10000], ['one', target, edge, 1], ['nine', wide.target, wide.edge, 10000]] as const) {
    const plan = { ...floodOf(few), destinations };
    await s.range.send(t, plan, 200_000);
    const [b, c] = [performance.now(), e?.use().cpuMs ?? 0];
    const n = await s.range.send(t, plan, 25_000_000);
    console.log(name, n.ns, ((e?.use().cpuMs ?? 0) - c) / (performance.now() - b) * 100, performance.now() - b);
  }
} finally { await s.destroy(); }
