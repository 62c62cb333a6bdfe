import { describeSettings } from '@portcullis/core/filters/settings.ts';
import { useQuery } from '@tanstack/react-query';
import { Filter as FilterIcon, Plus, SlidersHorizontal, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Column } from '../../components/list/columns.ts';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PropagationPill } from '../../components/PropagationPill.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { useWrite } from '../../components/forms/use-write.ts';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { EMPTY_FILTER, FilterFields, filterOf, isIncomplete } from './FilterFields.tsx';
import { FilterSettings } from './FilterSettings.tsx';
import type { AcceptedView } from './queries.ts';
import { Traffic } from './Traffic.tsx';
import { useUndo } from './undo.ts';

const text = messages.filters;
type Filter = AcceptedView['data']['filters'][number];

interface Props {
  readonly ip: string;
  readonly view: AcceptedView;
}

export function FiltersPanel({ ip, view }: Props) {
  const { client } = useSession();
  const undo = useUndo(ip);
  const [isAdding, setAdding] = useState(false);
  const [setting, setSetting] = useState<Filter | null>(null);
  const { filters } = view.data;
  const catalogue = useCatalogue(ip);
  const isManaged = catalogue.data?.data.length === 0;
  const remove = useWrite(
    ({ key }: Filter) => client.deleteFilters({ ip, body: { keys: [key] } }),
    {
      say: ({ response: { generation } }, { key, type, name, port, settings }) => ({
        text: text.deleted(name, port),
        undo: undo([generation], async () => {
          await client.applyFilters({ ip, body: { type, port: String(port) } });
          await client.setFilterSettings({ ip, body: { keys: [key], settings } });
        }),
      }),
    },
  );
  return (
    <>
      <ListPanel
        title={messages.address.tabs.filters}
        filter={
          <span className="dim">{text.count(filters.length, view.meta.limits.filters_per_ip)}</span>
        }
        actions={
          <RoleButton
            needs="member"
            refusal={isManaged ? text.managed.text : null}
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => setAdding(true)}
          >
            {text.add}
          </RoleButton>
        }
        error={remove.error}
        rows={filters}
        columns={columnsOf(view, setSetting, (filter) => remove.mutate(filter))}
        keyOf={({ key, managed_by_group: group, status }) => `${key}:${group?.id ?? ''}:${status}`}
        empty={{ icon: FilterIcon, ...(isManaged ? text.managed : text.empty) }}
      />
      <Traffic ip={ip} />
      {setting !== null && (
        <FilterSettings ip={ip} filter={setting} onClose={() => setSetting(null)} />
      )}
      {isAdding && <AddFilter ip={ip} onClose={() => setAdding(false)} />}
    </>
  );
}

function columnsOf(
  { meta }: AcceptedView,
  onSet: (filter: Filter) => void,
  onRemove: (filter: Filter) => void,
): readonly Column<Filter>[] {
  return [
    { title: text.filter, cell: ({ name }) => name },
    { title: text.port, className: 'mono', card: 'head', cell: ({ port }) => port },
    {
      title: text.settings.column,
      className: 'dim',
      cell: ({ settings }) => settingsText(settings),
    },
    {
      title: text.owner,
      className: 'dim',
      cell: ({ managed_by_group: group }) => (group === null ? text.own : text.group(group.name)),
    },
    {
      title: text.state,
      card: 'end',
      cell: ({ status }) => (
        <PropagationPill status={status} isEnforced={meta.live_generation !== null} />
      ),
    },
    {
      title: text.actions,
      isTitleHidden: true,
      cell: (filter) =>
        filter.managed_by_group === null &&
        filter.status !== 'going' && (
          <span className="row-end">
            <RoleIcon
              needs="member"
              label={text.settings.of(filter.name, filter.port)}
              onClick={() => onSet(filter)}
            >
              <SlidersHorizontal size={15} />
            </RoleIcon>
            <RoleIcon
              needs="member"
              label={text.removeOf(filter.name, filter.port)}
              onClick={() => onRemove(filter)}
            >
              <Trash2 size={15} />
            </RoleIcon>
          </span>
        ),
    },
  ];
}

function settingsText(settings: Filter['settings']): string {
  const described = describeSettings({
    sourcePps: settings.source_pps,
    newPerSecond: settings.new_per_second,
    minLength: settings.min_length,
    maxLength: settings.max_length,
    sourcePorts: settings.source_ports,
  });
  return described === '' ? text.settings.none : described;
}

/** The filters that can be added here: none where the service of the address has all of them. */
function useCatalogue(ip: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['filters', ip],
    queryFn: ({ signal }) => client.listAvailableFilters({ ip }, { signal }),
  });
}

function AddFilter({ ip, onClose }: { readonly ip: string; onClose(): void }) {
  const { client, people } = useSession();
  const undo = useUndo(ip);
  const catalogue = useCatalogue(ip);
  return (
    <WriteDialog
      title={text.addTitle}
      initial={EMPTY_FILTER}
      refusal={isIncomplete}
      write={(draft) => client.applyFilters({ ip, body: filterOf(draft) })}
      say={({ response: { generation } }) => ({
        text: text.added,
        generation,
        // An API key has no history to take it back from.
        ...(people !== null && { undo: undo([generation], async () => {}) }),
      })}
      submit={text.add}
      onClose={onClose}
    >
      {(form) => (
        <>
          <Notice kind="warn">{text.reconnect}</Notice>
          <FilterFields
            form={form}
            available={catalogue.data?.data.map(({ type }) => type) ?? []}
          />
          {catalogue.error !== null && <Notice kind="bad">{catalogue.error.message}</Notice>}
        </>
      )}
    </WriteDialog>
  );
}
