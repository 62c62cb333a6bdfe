import { useSearch } from '@tanstack/react-router';
import { Gauge } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { type Fact, Facts } from '../../../components/figures/Facts.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { PageHeader } from '../../../components/PageHeader.tsx';
import { RoleGate } from '../../../components/RoleGate.tsx';
import { formatCount, formatShare } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import { useOffered } from '../../library/queries.ts';
import { type Offered, type Quota, stateOf } from './draft.ts';
import { MadeServer } from './MadeServer.tsx';
import { NewServerForm } from './NewServerForm.tsx';
import { useQuota } from './queries.ts';
import { amountOf } from './SizeFields.tsx';

const ABOVE = { to: '/servers', title: messages.servers.title } as const;

/** Makes a server within the quota of the organisation, and shows how far it is until players can connect. */
export function NewServerPage() {
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} above={ABOVE} />
      <RoleGate needs="owner">
        <Content />
      </RoleGate>
    </>
  );
}

function Content() {
  const quota = useQuota();
  const eggs = useOffered();
  const [made, setMade] = useState<string | null>(null);
  if (made !== null) return <MadeServer uuid={made} onAgain={() => setMade(null)} />;
  return (
    <Loaded query={quota} inCard>
      {(read) => (
        <Loaded query={eggs} inCard>
          {(games) => <Open quota={read} games={games} onMade={setMade} />}
        </Loaded>
      )}
    </Loaded>
  );
}

interface OpenProps {
  readonly quota: Quota;
  readonly games: readonly Offered[];
  onMade(uuid: string): void;
}

function Open({ quota, games, onMade }: OpenProps) {
  const { egg = '' } = useSearch({ from: '/servers/new' });
  const state = stateOf(quota);
  if (state === 'none') return <EmptyState inCard icon={Gauge} {...text.noQuota} />;
  const proposed = games.some(({ name }) => name === egg) ? egg : '';
  const full = { title: text.full.title, text: text.full.text(quota.limits.servers) };
  return (
    <>
      <Facts facts={factsOf(quota)} />
      {state === 'full' ? (
        <EmptyState inCard icon={Gauge} {...full} />
      ) : (
        <NewServerForm quota={quota} games={games} proposed={proposed} onMade={onMade} />
      )}
    </>
  );
}

function factsOf({ limits, used }: Quota): Fact[] {
  return (['servers', 'memory', 'cpu', 'disk'] as const).map((name) => {
    const show = (value: number): string =>
      name === 'servers' ? formatCount(value) : amountOf(name, value);
    const share = limits[name] === 0 ? 1 : used[name] / limits[name];
    const label = text.quota.use(text.quota[name], formatShare(share));
    return {
      name: text.quota[name],
      value: show(used[name]),
      hint: text.quota.of(show(limits[name])),
      use: { share, label },
    };
  });
}
