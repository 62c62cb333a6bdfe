import { Button, Modal, Select, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Filter as FilterIcon, Trash2 } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { EmptyState } from '../../components/EmptyState.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PropagationPill } from '../../components/PropagationPill.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { type AcceptedView, useRefresh } from './queries.ts';
import { explainPorts } from './rules/rule-draft.ts';
import { showUndo } from '../../components/show-undo.tsx';

const text = messages.filters;

interface Props {
  readonly ip: string;
  readonly view: AcceptedView;
}

export function FiltersPanel({ ip, view }: Props) {
  const { client } = useSession();
  const refresh = useRefresh(ip);
  const [isAdding, setAdding] = useState(false);
  const { filters } = view.data;
  const remove = useMutation({
    mutationFn: (key: string) => client.deleteFilters({ ip, body: { keys: [key] } }),
    onSuccess(_, key) {
      refresh();
      const gone = filters.find((filter) => filter.key === key);
      if (gone === undefined) return;
      const body = { type: gone.type, port: String(gone.port) };
      showUndo(text.deleted(gone.name, gone.port), async () => {
        await client.applyFilters({ ip, body });
        refresh();
      });
    },
  });
  const { filters_per_ip: limit } = view.meta.limits;
  return (
    <section className="card">
      <div className="tools card-pad">
        <span className="dim">{text.count(filters.length, limit)}</span>
        <div className="row-end">
          <RoleButton needs="member" onClick={() => setAdding(true)}>
            {text.add}
          </RoleButton>
        </div>
      </div>
      {remove.error !== null && <Notice kind="bad">{remove.error.message}</Notice>}
      {filters.length === 0 ? (
        <EmptyState icon={FilterIcon} title={text.empty.title} text={text.empty.text} />
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{text.filter}</th>
                <th scope="col">{text.port}</th>
                <th scope="col">{text.owner}</th>
                <th scope="col">{text.state}</th>
                <th scope="col">
                  <span className="dim">{text.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {filters.map(({ key, name, port, managed_by_group: group, status }) => (
                <tr key={`${key}:${group?.id ?? ''}`}>
                  <td>{name}</td>
                  <td className="mono">{port}</td>
                  <td className="dim">{group === null ? text.own : text.group(group.name)}</td>
                  <td>
                    <PropagationPill status={status} />
                  </td>
                  <td>
                    {group === null && status !== 'going' && (
                      <RoleIcon
                        needs="member"
                        label={text.removeOf(name, port)}
                        onClick={() => remove.mutate(key)}
                      >
                        <Trash2 size={15} />
                      </RoleIcon>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isAdding && <AddFilter ip={ip} onClose={() => setAdding(false)} />}
    </section>
  );
}

function AddFilter({ ip, onClose }: { readonly ip: string; onClose(): void }) {
  const { client } = useSession();
  const refresh = useRefresh(ip);
  const [type, setType] = useState<string | null>(null);
  const [port, setPort] = useState('');
  const catalogue = useQuery({
    queryKey: ['filters', ip],
    queryFn: ({ signal }) => client.listAvailableFilters({ ip }, { signal }),
  });
  const add = useMutation({
    mutationFn: () => client.applyFilters({ ip, body: { type: type ?? '', port } }),
    onSuccess() {
      refresh();
      onClose();
    },
  });
  const ports = explainPorts(port);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (type !== null && ports.isValid && port !== '') add.mutate();
  };
  const error = add.error ?? catalogue.error;
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.addTitle}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <form className="stack" onSubmit={submit}>
        <Notice kind="warn">{text.reconnect}</Notice>
        <Select
          data-autofocus
          label={text.filter}
          placeholder={text.choose}
          value={type}
          onChange={setType}
          data={(catalogue.data?.data ?? []).map((each) => ({
            value: each.type,
            label: each.name,
          }))}
          required
        />
        <div>
          <TextInput
            label={text.ports}
            placeholder="27015, 27020-27025"
            value={port}
            onChange={(event) => setPort(event.currentTarget.value)}
            required
          />
          <div className={`hint ${port === '' ? '' : ports.isValid ? 'ok' : 'bad'}`} role="status">
            {port === '' ? text.portsHint : ports.text}
          </div>
        </div>
        {error !== null && <Notice kind="bad">{error.message}</Notice>}
        <Button
          type="submit"
          loading={add.isPending}
          disabled={type === null || port === '' || !ports.isValid}
        >
          {text.add}
        </Button>
      </form>
    </Modal>
  );
}
