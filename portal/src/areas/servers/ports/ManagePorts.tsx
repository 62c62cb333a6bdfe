import { SegmentedControl, TextInput } from '@mantine/core';
import type { ServerPorts } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Star, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { serverPortMessages as text } from '../../../messages/servers/ports.ts';
import { useSession } from '../../../session/session.ts';
import { placeOf } from '../place.ts';
import { rightRefusal } from '../server-right.ts';

type Port = ServerPorts['data']['ports'][number];
type Act = 'change' | 'first' | 'remove';

interface Props {
  readonly uuid: string;
  /** The caller's own rights to the server. */
  readonly rights: readonly string[];
}

/** The ports that a server has, and more of them. Shown to those who may see them. */
export function ManagePorts({ uuid, rights }: Props) {
  const { client } = useSession();
  const [isAdding, setAdding] = useState(false);
  const [acting, setActing] = useState<{ readonly act: Act; readonly port: Port } | null>(null);
  const query = useQuery({
    queryKey: ['server', uuid, 'ports'],
    queryFn: async ({ signal }) => (await client.listServerPorts({ slice: uuid }, { signal })).data,
  });
  const { ports, limit = 0 } = query.data ?? {};
  const count = ports?.length ?? 0;
  return (
    <>
      <ListPanel<Port>
        title={text.title}
        isHeaded
        {...(ports !== undefined && { lead: text.lead(limit, count) })}
        query={query}
        rows={ports}
        columns={columnsOf(rights, (act, port) => setActing({ act, port }))}
        keyOf={placeOf}
        actions={
          <RoleButton
            refusal={
              rightRefusal(rights, 'allocation.create') ?? (count < limit ? null : text.addNone)
            }
            onClick={() => setAdding(true)}
          >
            {text.add}
          </RoleButton>
        }
        above={
          isAdding && (
            <WriteForm
              label={text.add}
              layout="panel"
              initial={EMPTY}
              submit={text.add}
              write={(draft) => client.addServerPort({ slice: uuid, body: bodyOf(draft) })}
              onDone={() => setAdding(false)}
              onCancel={() => setAdding(false)}
            >
              {(form) => <PortFields form={form} />}
            </WriteForm>
          )
        }
      />
      {acting !== null && <ActDialog uuid={uuid} {...acting} onClose={() => setActing(null)} />}
    </>
  );
}

function columnsOf(
  rights: readonly string[],
  onAct: (act: Act, port: Port) => void,
): readonly Column<Port>[] {
  return [
    {
      title: text.columns.port,
      className: 'mono',
      cell: (port) => (
        <>
          {placeOf(port)} <span className="dim">{port.protocols.join(', ').toUpperCase()}</span>
        </>
      ),
    },
    {
      title: text.columns.name,
      cell: ({ name, primary, added }) => (
        <span className="row">
          {name ?? <span className="dim">–</span>}
          {primary && <Pill tone="ok">{text.first}</Pill>}
          {!added && <Pill tone="neutral">{text.ofOperator}</Pill>}
        </span>
      ),
    },
    {
      title: text.columns.actions,
      isTitleHidden: true,
      isNumber: true,
      cell: (port) => <Buttons port={port} rights={rights} onAct={(act) => onAct(act, port)} />,
    },
  ];
}

interface ButtonsProps {
  readonly port: Port;
  readonly rights: readonly string[];
  onAct(act: Act): void;
}

function Buttons({ port: { port, primary, added }, rights, onAct }: ButtonsProps) {
  const mayChange = rightRefusal(rights, 'allocation.update');
  const own = added ? null : text.notYours;
  return (
    <>
      <RoleIcon
        label={text.makeFirstOf(port)}
        hint={text.makeFirst}
        refusal={mayChange ?? (primary ? text.isFirst : null)}
        onClick={() => onAct('first')}
      >
        <Star size={15} />
      </RoleIcon>
      <RoleIcon
        label={text.changeOf(port)}
        hint={text.change}
        refusal={mayChange ?? own}
        onClick={() => onAct('change')}
      >
        <Pencil size={15} />
      </RoleIcon>
      <RoleIcon
        label={text.removeOf(port)}
        hint={text.remove}
        refusal={
          rightRefusal(rights, 'allocation.delete') ?? own ?? (primary ? text.firstStays : null)
        }
        onClick={() => onAct('remove')}
      >
        <Trash2 size={15} />
      </RoleIcon>
    </>
  );
}

interface ActProps {
  readonly uuid: string;
  readonly act: Act;
  readonly port: Port;
  onClose(): void;
}

function ActDialog({ uuid, act, port: { ip, port, name, protocols }, onClose }: ActProps) {
  const { client } = useSession();
  const at = { slice: uuid, address: ip, port };
  if (act === 'change') {
    return (
      <WriteDialog
        title={text.changeOf(port)}
        submit={text.save}
        initial={{ name: name ?? '', protocols: protocols.join('+') }}
        write={(draft) => client.setServerPort({ ...at, body: bodyOf(draft) })}
        onClose={onClose}
      >
        {(form) => <PortFields form={form} />}
      </WriteDialog>
    );
  }
  const isRemoved = act === 'remove';
  return (
    <WriteDialog
      title={isRemoved ? text.removeTitle(port) : text.makeFirstTitle(port)}
      submit={isRemoved ? text.remove : text.makeFirst}
      isFinal={isRemoved}
      write={() => (isRemoved ? client.removeServerPort(at) : client.choosePrimaryPort(at))}
      onClose={onClose}
    >
      {isRemoved ? text.removeText : text.makeFirstText}
    </WriteDialog>
  );
}

interface Draft extends Record<string, string> {
  name: string;
  /** `tcp`, `udp` or `tcp+udp`. */
  protocols: string;
}

const EMPTY: Draft = { name: '', protocols: 'tcp+udp' };

function bodyOf({ name, protocols }: Draft) {
  return {
    name: name.trim() || null,
    protocols: protocols.split('+') as ('tcp' | 'udp')[],
  };
}

function PortFields({ form }: { readonly form: Fields<Draft> }) {
  return (
    <div className="form-row">
      <TextInput
        className="field-m"
        autoFocus
        label={text.name}
        placeholder={text.namePlaceholder}
        maxLength={63}
        {...form.getInputProps('name')}
      />
      <SegmentedControl
        aria-label={text.protocols}
        data={[
          { value: 'tcp+udp', label: text.both },
          { value: 'tcp', label: 'TCP' },
          { value: 'udp', label: 'UDP' },
        ]}
        {...form.getInputProps('protocols')}
      />
    </div>
  );
}
