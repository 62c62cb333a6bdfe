import { Tabs } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { CopyIcon } from '../../components/CopyIcon.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Loading } from '../../components/Loading.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pill } from '../../components/Pill.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { AttackBanner } from '../attacks/AttackBanner.tsx';
import { messages } from '../../messages/index.ts';
import { DefaultControl } from './DefaultControl.tsx';
import { Edges } from './Edges.tsx';
import { ExplainPanel } from './explain/ExplainPanel.tsx';
import { FiltersPanel } from './FiltersPanel.tsx';
import { type AcceptedView, isMoving, useAddress } from './queries.ts';
import type { RuleDraft } from './rules/rule-draft.ts';
import { RulesPanel } from './rules/RulesPanel.tsx';
import { isTab, type Tab, TABS } from './tabs.ts';

const DropsPanel = lazy(() => import('./drops/DropsPanel.tsx'));
const GeoPanel = lazy(() => import('./geo/GeoPanel.tsx'));
const HistoryPanel = lazy(() => import('./history/HistoryPanel.tsx'));

const text = messages.address;

export function AddressPage() {
  const { ip } = useParams({ from: '/addresses/$ip' });
  const { tab = 'rules' } = useSearch({ from: '/addresses/$ip' });
  const navigate = useNavigate();
  const address = useAddress(ip);
  const [draft, setDraft] = useState<RuleDraft | null>(null);
  const show = (next: Tab): void =>
    void navigate({ to: '/addresses/$ip', params: { ip }, search: { tab: next }, replace: true });
  return (
    <>
      <PageHeader
        title={ip}
        above={
          <Link className="crumb" to="/addresses">
            {messages.addresses.title}
          </Link>
        }
      >
        <CopyIcon value={ip} label={text.copy} />
        {address.data !== undefined && <Propagation view={address.data} />}
        {address.data !== undefined && <DefaultControl ip={ip} value={address.data.data.default} />}
      </PageHeader>
      <AttackBanner ip={ip} />
      {address.data === undefined ? (
        <section className="card">
          {address.error === null ? (
            <Loading rows={8} />
          ) : (
            <ErrorState error={address.error} onRetry={() => void address.refetch()} />
          )}
        </section>
      ) : (
        <Tabs value={tab} onChange={(next) => isTab(next) && show(next)} keepMounted={false}>
          <Tabs.List mb="md">
            {TABS.map((each) => (
              <Tabs.Tab key={each} value={each}>
                {text.tabs[each]} {countOf(each, address.data)}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel value="rules">
            <RulesPanel ip={ip} view={address.data} draft={draft} onDraft={setDraft} />
          </Tabs.Panel>
          <Tabs.Panel value="filters">
            <FiltersPanel ip={ip} view={address.data} />
          </Tabs.Panel>
          <Tabs.Panel value="geo">
            <ForPeople>
              <GeoPanel ip={ip} />
            </ForPeople>
          </Tabs.Panel>
          <Tabs.Panel value="history">
            <ForPeople>
              <HistoryPanel ip={ip} />
            </ForPeople>
          </Tabs.Panel>
          <Tabs.Panel value="drops">
            <Suspense fallback={<Loading />}>
              <DropsPanel
                ip={ip}
                onOpenPort={(opened) => {
                  setDraft(opened);
                  show('rules');
                }}
              />
            </Suspense>
          </Tabs.Panel>
          <Tabs.Panel value="explain">
            <ExplainPanel ip={ip} view={address.data} />
          </Tabs.Panel>
          <Tabs.Panel value="edges">
            <Edges view={address.data} />
          </Tabs.Panel>
        </Tabs>
      )}
    </>
  );
}

/** A tab that has no operations for API keys. */
function ForPeople({ children }: { readonly children: ReactNode }) {
  return (
    <section className="card">
      <RoleGate needs="person">
        <Suspense fallback={<Loading />}>{children}</Suspense>
      </RoleGate>
    </section>
  );
}

function countOf(tab: Tab, { meta }: AcceptedView) {
  const counts = { rules: meta.rules_count, filters: meta.filters_count, edges: meta.edges.length };
  const count = tab in counts ? counts[tab as keyof typeof counts] : null;
  return count === null ? null : <span className="dim">{count}</span>;
}

/** Live only when every edge that serves the address says so. */
function Propagation({ view }: { readonly view: AcceptedView }) {
  const { edges } = view.meta;
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
