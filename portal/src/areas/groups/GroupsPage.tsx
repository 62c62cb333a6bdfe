import { Tooltip } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Group } from '@portcullis/client/index.ts';
import { Layers, Plus } from 'lucide-react';
import type { Column } from '../../components/list/columns.ts';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pill } from '../../components/Pill.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { formatCount } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { fieldsOf } from './group-draft.ts';
import { useGroups } from './queries.ts';

const text = messages.groups;
const MAX_TARGETS = 3;
const SEARCH = { label: text.search, fieldsOf };

export function GroupsPage() {
  return (
    <>
      <PageHeader title={text.title} lead={text.lead}>
        <NewGroup />
      </PageHeader>
      <RoleGate needs="person">
        <GroupList />
      </RoleGate>
    </>
  );
}

function NewGroup() {
  const navigate = useNavigate();
  return (
    <RoleButton
      needs="admin"
      isForPeople
      leftSection={<Plus size={15} aria-hidden="true" />}
      onClick={() => void navigate({ to: '/groups/$group', params: { group: 'new' } })}
    >
      {text.add}
    </RoleButton>
  );
}

function GroupList() {
  const groups = useGroups();
  return (
    <ListPanel
      title={text.title}
      query={groups}
      rows={groups.data}
      search={SEARCH}
      hidesEmptyTools
      columns={COLUMNS}
      minWidth={640}
      keyOf={({ id }) => id}
      empty={{ icon: Layers, ...text.empty }}
      none={text.none}
    />
  );
}

const COLUMNS: readonly Column<Group>[] = [
  {
    title: text.columns.name,
    width: 'minmax(150px, 1.4fr)',
    cell: ({ id, name }) => (
      <Link className="cell-link" to="/groups/$group" params={{ group: String(id) }}>
        {name}
      </Link>
    ),
  },
  {
    title: text.columns.targets,
    width: 'minmax(220px, 2fr)',
    cell: ({ targets }) => <Targets targets={targets} />,
  },
  {
    title: text.columns.rules,
    width: '70px',
    isNumber: true,
    cell: ({ rules }) => formatCount(rules.length),
  },
  {
    title: text.columns.filters,
    width: '70px',
    isNumber: true,
    cell: ({ filters }) => formatCount(filters.length),
  },
  {
    title: text.columns.owner,
    width: '110px',
    cell: ({ owner }) =>
      owner === 'fleet' ? (
        <Tooltip label={text.fleetHint}>
          <span tabIndex={0}>
            <Pill tone="neutral" plain>
              {text.fleet}
            </Pill>
          </span>
        </Tooltip>
      ) : (
        <span className="dim">{text.portal}</span>
      ),
  },
];

function Targets({ targets }: { readonly targets: readonly string[] }) {
  if (targets.length === 0) return <span className="dim">{text.nowhere}</span>;
  const more = targets.length - MAX_TARGETS;
  return (
    <span className="mono">
      {targets.slice(0, MAX_TARGETS).join(', ')}
      {more > 0 && <span className="dim"> {text.more(more)}</span>}
    </span>
  );
}
