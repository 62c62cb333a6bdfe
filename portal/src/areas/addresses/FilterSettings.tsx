import { NumberInput } from '@mantine/core';
import type { FilterSettings as Settings } from '@portcullis/client/index.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import { ExplainedField } from '../../components/forms/ExplainedField.tsx';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { useFilters } from './FilterFields.tsx';
import type { AcceptedView } from './queries.ts';
import { useUndo } from './undo.ts';

const text = messages.filters.settings;
type Filter = AcceptedView['data']['filters'][number];

const NUMBERS = ['source_pps', 'new_per_second', 'min_length', 'max_length'] as const;

/** The packets that a filter lets through: empty fields are as the filter has it. */
export function FilterSettings({
  ip,
  filter,
  onClose,
}: {
  readonly ip: string;
  readonly filter: Filter;
  onClose(): void;
}) {
  const { client } = useSession();
  const undo = useUndo(ip);
  const about = useFilters().find(({ type }) => type === filter.type);
  const hasLengths = about?.protocols.includes('udp') !== false;
  const { settings } = filter;
  return (
    <WriteDialog
      title={text.title(filter.name, filter.port)}
      initial={draftOf(settings)}
      pointers={Object.fromEntries(
        [...NUMBERS, 'source_ports'].map((field) => [`/settings/${field}`, field]),
      )}
      refusal={({ source_ports: ports }) => !explainSourcePorts(ports).isValid}
      write={(draft) =>
        client.setFilterSettings({ ip, body: { keys: [filter.key], settings: settingsOf(draft) } })
      }
      say={({ response: { generation } }) => ({
        text: text.saved,
        generation,
        undo: undo([generation], () =>
          client.setFilterSettings({ ip, body: { keys: [filter.key], settings } }),
        ),
      })}
      submit={text.save}
      onClose={onClose}
    >
      {({ values, getInputProps }) => (
        <>
          <div className="dim">{text.lead}</div>
          {NUMBERS.filter((field) => hasLengths || !field.endsWith('length')).map((field) => (
            <NumberInput
              key={field}
              label={text.fields[field]}
              description={text.hints[field]}
              placeholder={text.usual}
              min={field === 'min_length' ? 0 : 1}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=","
              hideControls
              {...getInputProps(field)}
            />
          ))}
          <ExplainedField
            label={text.fields.source_ports}
            placeholder={text.usual}
            explained={explainSourcePorts(values.source_ports)}
            {...getInputProps('source_ports')}
          />
        </>
      )}
    </WriteDialog>
  );
}

function explainSourcePorts(typed: string) {
  const ranges = typed.trim() === '' ? null : parsePortExpression(typed);
  return ranges?.ok === false
    ? { isValid: false, text: ranges.reason }
    : { isValid: true, text: text.hints.source_ports };
}

/** The values as they are typed: '' is null. */
type Draft = { readonly [field in keyof Settings]: Exclude<Settings[field], null> | '' };

function draftOf(settings: Settings): Draft {
  const typed = Object.entries(settings).map(([field, value]) => [field, value ?? '']);
  return Object.fromEntries(typed) as Draft;
}

function settingsOf(draft: Draft): Settings {
  const sent = Object.entries(draft).map(([field, value]) => [field, value === '' ? null : value]);
  return Object.fromEntries(sent) as Settings;
}
