import { NumberInput, SegmentedControl, TextInput } from '@mantine/core';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { freeName, isTaken } from './free-name.ts';
import { listOf } from './list-of.ts';
import { type AgentKind, joinCommandOf, type MadeCommand } from './join.ts';

const text = operatorMessages.fleet;

interface Draft {
  readonly kind: AgentKind;
  readonly name: string;
  readonly devices: string;
  readonly addresses: string;
  readonly memory: number | string;
  readonly listen: string;
  readonly exporter: string;
  readonly prefixes: string;
}

const EMPTY: Draft = {
  kind: 'nodes',
  name: '',
  devices: '',
  addresses: '',
  memory: '',
  listen: '0.0.0.0:6343',
  exporter: '',
  prefixes: '',
};

interface Props {
  /** Names of hosts that there are. */
  readonly taken: Readonly<Record<AgentKind, readonly string[]>>;
  onClose(): void;
  onMade(made: MadeCommand): void;
}

/** Makes an edge, a node or a collector, and the command by which its host joins. */
export function AgentForm({ taken, onClose, onMade }: Props) {
  return (
    <WriteForm
      label={text.add}
      initial={EMPTY}
      submit={text.add}
      note={text.addNote}
      pointers={{
        '/exporters/0/ip': 'exporter',
        '/exporters/0/prefixes/0': 'prefixes',
        '/addresses/0': 'addresses',
      }}
      refusal={(draft) => refusalOf(draft, taken)}
      write={async (draft) => {
        const name = draft.name.trim();
        await save(draft, name);
        return joinCommandOf(draft.kind, name);
      }}
      onDone={(made) => {
        onClose();
        onMade(made);
      }}
      onCancel={onClose}
    >
      {(form) => <AgentFields form={form} taken={taken} />}
    </WriteForm>
  );
}

interface FieldsProps {
  readonly form: Fields<Draft>;
  readonly taken: Props['taken'];
}

function AgentFields({ form: { values, getInputProps }, taken }: FieldsProps) {
  return (
    <>
      <SegmentedControl
        aria-label={text.kind}
        data={(['nodes', 'edges', 'collectors'] as const).map((value) => ({
          value,
          label: text.kinds[value],
        }))}
        {...getInputProps('kind', { withError: false })}
      />
      <div className="form-row">
        <TextInput
          className="field-s"
          autoFocus
          label={text.name}
          placeholder={freeName(text.nameBeginnings[values.kind], taken[values.kind])}
          maxLength={63}
          required
          {...getInputProps('name')}
        />
        {values.kind === 'edges' && (
          <TextInput
            className="field"
            label={text.incoming}
            placeholder={text.incomingText}
            required
            {...getInputProps('devices')}
          />
        )}
        {values.kind === 'nodes' && (
          <>
            <TextInput
              className="field"
              label={text.addresses}
              placeholder={text.addressesText}
              {...getInputProps('addresses')}
            />
            <NumberInput
              className="field-s"
              label={text.memory}
              placeholder={text.memoryText}
              min={1}
              allowDecimal={false}
              hideControls
              {...getInputProps('memory')}
            />
          </>
        )}
        {values.kind === 'collectors' && (
          <>
            <TextInput className="field-s" label={text.listen} {...getInputProps('listen')} />
            <TextInput
              className="field"
              label={text.exporter}
              placeholder="192.0.2.1"
              required
              {...getInputProps('exporter')}
            />
            <TextInput
              className="field"
              label={text.believed}
              placeholder={text.believedText}
              required
              {...getInputProps('prefixes')}
            />
          </>
        )}
      </div>
    </>
  );
}

function save(draft: Draft, name: string): Promise<unknown> {
  const { kind, devices, addresses, memory, listen, exporter, prefixes } = draft;
  if (kind === 'edges') {
    return personClient.saveEdge({ name, body: { devices: listOf(devices) } }, ONLY_NEW);
  }
  if (kind === 'collectors') {
    const isAll = prefixes.trim() === 'all';
    const exporters = [
      { ip: exporter.trim(), prefixes: isAll ? ('all' as const) : listOf(prefixes) },
    ];
    return personClient.saveCollector(
      { name, body: { listen: listen.trim(), exporters } },
      ONLY_NEW,
    );
  }
  const offer = { addresses: listOf(addresses), memory: memory === '' ? null : Number(memory) };
  return personClient.saveNode({ name, body: offer }, ONLY_NEW);
}

/** Another tab or program may have made one of this name meanwhile: it is never replaced. */
const ONLY_NEW = { ifNoneMatch: '*' } as const;

function refusalOf(draft: Draft, taken: Props['taken']): string | boolean {
  const { kind, name, devices, exporter, prefixes } = draft;
  if (isTaken(name, taken[kind])) return text.taken(name.trim());
  return (
    name.trim() === '' ||
    (kind === 'edges' && listOf(devices).length === 0) ||
    (kind === 'collectors' && (exporter.trim() === '' || prefixes.trim() === ''))
  );
}
