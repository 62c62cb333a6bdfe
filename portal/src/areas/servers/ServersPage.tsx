import { Button, SegmentedControl } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Plus, Server } from 'lucide-react';
import { lazy, useMemo, useState } from 'react';
import { Facts } from '../../components/figures/Facts.tsx';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { formatCount } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { useAttacksOfDay } from '../attacks/queries.ts';
import { useSession } from '../../session/session.ts';
import { useRole } from '../../session/rights.ts';
import { useQuota } from './make/queries.ts';
import { useServers } from './queries.ts';
import { COLUMNS } from './server-columns.tsx';
import { fieldsOf, FILTERS, rowsOf, type ServerFilter, type ServerRow } from './server-rows.ts';

const CreateServer = lazy(() => import('./form/CreateServer.tsx'));

const text = messages.servers;

const SEARCH = { label: text.search, fieldsOf };
const CHOICES = (['all', 'running', 'offline', 'troubled'] as const).map((value) => ({
  value,
  label: text.filters[value],
}));

export function ServersPage() {
  const servers = useServers();
  const attacks = useAttacksOfDay().data ?? null;
  const [filter, setFilter] = useState<ServerFilter>('all');
  const all = useMemo(() => rowsOf(servers.data ?? [], attacks), [servers.data, attacks]);
  const { person, organisation } = useSession();
  const isOperator = person?.operator === true && organisation !== null;
  const isOwner = useRole() === 'owner' && !isOperator;
  const quota = useQuota({ enabled: isOwner });
  const canMake = isOwner && (quota.data?.limits.servers ?? 0) > 0;
  const navigate = useNavigate();
  const rows = useMemo(() => all.filter(FILTERS[filter]), [all, filter]);
  const count = (matches: (row: ServerRow) => boolean): string =>
    formatCount(all.filter(matches).length);
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      {all.length > 0 && (
        <Facts
          facts={[
            { name: text.facts.servers, value: formatCount(all.length) },
            { name: text.facts.running, value: count(FILTERS.running) },
            { name: text.facts.troubled, value: count(FILTERS.troubled) },
            {
              name: text.facts.attacked,
              value:
                attacks === null
                  ? text.attacksUnknown
                  : count((row) => row.attacks !== null && row.attacks > 0),
            },
          ]}
        />
      )}
      <ListPanel
        title={text.title}
        query={servers}
        rows={servers.data && rows}
        total={all.length}
        waitingRows={10}
        search={SEARCH}
        filter={
          <SegmentedControl
            aria-label={text.filter}
            data={CHOICES}
            value={filter}
            onChange={setFilter}
          />
        }
        hidesEmptyTools={!isOperator && !canMake}
        {...(canMake && {
          actions: (
            <Button
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => void navigate({ to: '/servers/new' })}
            >
              {text.make}
            </Button>
          ),
        })}
        {...(isOperator && {
          add: {
            label: text.create,
            form: (close) => <CreateServer organisation={organisation} onClose={close} />,
          },
        })}
        empty={{
          icon: Server,
          title: text.empty.title,
          text: isOperator || canMake ? text.empty.operatorText : text.empty.text,
        }}
        none={text.none}
        columns={COLUMNS}
        minWidth={900}
        keyOf={({ uuid }) => uuid}
        foot={(shown, total) => text.shown(shown, total)}
      />
    </>
  );
}
