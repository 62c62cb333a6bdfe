import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ChartError, type Manifest, renderChart } from '../structure/chart.ts';

const PROXY = { control: { trustedProxy: '10.0.0.0/8' } };
const HOSTS = {
  edges: [{ name: 'edge-1', host: 'worker-1', secret: 'edge-1' }],
  nodes: [{ name: 'node-1', host: 'worker-2', secret: 'node-1' }],
};

interface Port {
  readonly name?: string;
  readonly port: number | string;
}
interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
}
interface Workload {
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: {
      readonly securityContext?: Readonly<Record<string, unknown>>;
      readonly hostNetwork?: boolean;
      readonly containers: readonly Container[];
      readonly initContainers?: readonly Container[];
    };
  };
}
interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly {
    readonly from?: readonly object[];
    readonly ports: readonly Port[];
  }[];
}

interface Specs {
  readonly Service: { readonly ports: readonly Port[] };
  readonly NetworkPolicy: Policy;
  readonly Deployment: Workload;
}

function specOf<K extends keyof Specs>(
  manifests: readonly Manifest[],
  kind: K,
  name: string,
): Specs[K] {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  assert.ok(found !== undefined, `there is no ${kind} ${name}`);
  return found.spec as Specs[K];
}

function argsOf(manifests: readonly Manifest[]): readonly string[] {
  const { template } = specOf(manifests, 'Deployment', 'site-control');
  return template.spec.containers[0]?.args ?? [];
}

test('the chart is refused without a word on the proxy in front of it', () => {
  const refusal = (error: unknown): boolean =>
    error instanceof ChartError && /control\.trustedProxy: name the addresses/.test(error.message);
  for (const trustedProxy of ['', null]) {
    assert.throws(() => renderChart({ control: { trustedProxy } }), refusal);
  }
  assert.throws(() => renderChart(), refusal);
  assert.ok(argsOf(renderChart(PROXY)).includes('--trusted-proxy=10.0.0.0/8'));
  const none = renderChart({ control: { trustedProxy: 'none' } });
  assert.ok(argsOf(none).includes('--trusted-proxy=none'));
});

test('Compose is refused without a word on the proxy in front of it', () => {
  const text = readFileSync(join(import.meta.dirname, '../../deploy/compose.yaml'), 'utf8');
  const { services } = parse(text, { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly command?: readonly string[] }>>;
  };
  for (const name of ['control-1', 'control-2']) {
    const command = services[name]?.command ?? [];
    const at = command.indexOf('--trusted-proxy');
    assert.match(command[at + 1] ?? '', /^\$\{TRUSTED_PROXY:\?.+\}$/, name);
  }
});

test('metrics and the whole readiness are on a Service of their own, for those who are named', () => {
  const manifests = renderChart(PROXY);
  const ports = (name: string): (string | undefined)[] =>
    specOf(manifests, 'Service', name).ports.map((one) => one.name);
  assert.deepEqual(ports('site-control'), ['http']);
  assert.deepEqual(ports('site-control-metrics'), ['metrics']);
  const { ingress, podSelector, policyTypes } = specOf(manifests, 'NetworkPolicy', 'site-control');
  assert.deepEqual(policyTypes, ['Ingress']);
  assert.deepEqual(podSelector.matchLabels, { app: 'site-control' });
  const allowing = (port: string) =>
    ingress.filter((rule) => rule.ports.some((one) => one.port === port));
  assert.deepEqual(
    allowing('http').map(({ from }) => from),
    [undefined],
  );
  const [metrics, ...others] = allowing('metrics');
  assert.deepEqual(others, []);
  assert.ok((metrics?.from ?? []).length > 0, 'an empty list allows everybody');
});

test('only control and what makes the configuration of NATS reach PostgreSQL', () => {
  const { ingress } = specOf(renderChart(PROXY), 'NetworkPolicy', 'site-postgres');
  assert.deepEqual(
    ingress.map(({ from }) => JSON.stringify(from)),
    [
      '[{"podSelector":{"matchLabels":{"app":"site-control"}}},{"podSelector":{"matchLabels":{"app":"site-nats"}}}]',
    ],
  );
  const own = renderChart({ ...PROXY, databaseSecret: 'mine' });
  assert.equal(
    own.some(({ metadata }) => metadata.name === 'site-postgres'),
    false,
  );
});

test('no pod has rights that its work does not need', () => {
  const manifests = renderChart({ ...PROXY, ...HOSTS });
  const workloads = manifests.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind));
  assert.equal(workloads.length, 5);
  for (const { metadata, spec } of workloads) {
    const { template } = spec as Workload;
    const { containers, initContainers = [], hostNetwork, securityContext } = template.spec;
    for (const { name, securityContext: own = {} } of [...containers, ...initContainers]) {
      const capabilities = own['capabilities'] as { drop: string[] } | undefined;
      assert.deepEqual(capabilities?.drop, ['ALL'], `${metadata.name}: ${name}`);
      assert.notEqual(own['privileged'], true);
      // Agents of hosts program their kernel or Docker.
      if (hostNetwork !== true) assert.equal(own['allowPrivilegeEscalation'], false, name);
    }
    if (hostNetwork === true) continue;
    assert.equal(securityContext?.['runAsNonRoot'], true, metadata.name);
    assert.ok(Number(securityContext?.['runAsUser']) > 0, metadata.name);
    assert.deepEqual(securityContext?.['seccompProfile'], { type: 'RuntimeDefault' });
  }
});
