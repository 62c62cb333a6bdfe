import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { CopyIcon } from '../../components/CopyIcon.tsx';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pill } from '../../components/Pill.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { TabShell, useShowTab } from '../../components/TabShell.tsx';
import { AttackBanner } from '../attacks/AttackBanner.tsx';
import { messages } from '../../messages/index.ts';
import { DefaultControl } from './DefaultControl.tsx';
import { Edges } from './Edges.tsx';
import { ExplainPanel } from './explain/ExplainPanel.tsx';
import { FiltersPanel } from './FiltersPanel.tsx';
import { type AcceptedView, isMoving, useAddress } from './queries.ts';
import type { RuleDraft } from './rules/rule-draft.ts';
import { RulesPanel } from './rules/RulesPanel.tsx';

const BlockedPanel = lazy(() => import('./blocked/BlockedPanel.tsx'));
const DropsPanel = lazy(() => import('./drops/DropsPanel.tsx'));
const GeoPanel = lazy(() => import('./geo/GeoPanel.tsx'));
const HistoryPanel = lazy(() => import('./history/HistoryPanel.tsx'));

const text = messages.address;

export function AddressPage() {
  const { ip } = useParams({ from: '/addresses/$ip' });
  const show = useShowTab('/addresses/$ip');
  const address = useAddress(ip);
  const [draft, setDraft] = useState<RuleDraft | null>(null);
  const openPort = (opened: RuleDraft): void => {
    setDraft(opened);
    show('rules');
  };
  return (
    <>
      <PageHeader title={ip} above={{ to: '/addresses', title: messages.addresses.title }}>
        <CopyIcon value={ip} label={text.copy} />
        {address.data !== undefined && <Propagation view={address.data} />}
        {address.data !== undefined && <DefaultControl ip={ip} value={address.data.data.default} />}
      </PageHeader>
      <AttackBanner ip={ip} />
      {address.data?.meta.live_generation === null && (
        <Notice kind="info">{messages.addresses.notEnforced}</Notice>
      )}
      <Loaded query={address} rows={8} inCard>
        {(view) => (
          <TabShell
            path="/addresses/$ip"
            titles={text.tabs}
            counts={countsOf(view)}
            panels={{
              rules: (
                <>
                  <RulesPanel ip={ip} view={view} draft={draft} onDraft={setDraft} />
                  <Suspense fallback={null}>
                    <BlockedPanel ip={ip} />
                  </Suspense>
                </>
              ),
              filters: <FiltersPanel ip={ip} view={view} />,
              geo: (
                <RoleGate needs="person">
                  <GeoPanel ip={ip} />
                </RoleGate>
              ),
              history: (
                <RoleGate needs="person">
                  <HistoryPanel ip={ip} />
                </RoleGate>
              ),
              drops: <DropsPanel ip={ip} onOpenPort={openPort} />,
              explain: <ExplainPanel ip={ip} view={view} />,
              edges: <Edges view={view} />,
            }}
          />
        )}
      </Loaded>
    </>
  );
}

function countsOf({ meta }: AcceptedView) {
  return { rules: meta.rules_count, filters: meta.filters_count, edges: meta.edges.length };
}

/** Live only when an edge enforces and every edge that serves the address says so. */
function Propagation({ view }: { readonly view: AcceptedView }) {
  const { edges, live_generation: live } = view.meta;
  if (live === null) return <Pill tone="neutral">{text.waiting}</Pill>;
  const serving = edges.filter(({ in_service }) => in_service);
  if (edges.some(({ refused }) => refused !== null)) return <Pill tone="bad">{text.refused}</Pill>;
  if (serving.length === 0) return <Pill tone="warn">{text.noEdge}</Pill>;
  if (!isMoving(view)) return <Pill tone="ok">{text.live}</Pill>;
  const done = serving.filter(({ generation }) => generation >= view.meta.accepted_generation);
  return (
    <Pill tone="warn" moving>
      {text.propagating(done.length, serving.length)}
    </Pill>
  );
}
