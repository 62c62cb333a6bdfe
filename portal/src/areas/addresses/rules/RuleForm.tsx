import { SegmentedControl, Select } from '@mantine/core';
import type { NotedRule } from '@portcullis/client/index.ts';
import { ExplainedField } from '../../../components/forms/ExplainedField.tsx';
import type { Said } from '../../../components/forms/use-write.ts';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { EMPTY_NOTE, NoteFields, noteOf } from '../notes/NoteFields.tsx';
import {
  countRules,
  explainPorts,
  explainSource,
  hasPorts,
  inputOf,
  PROTOCOLS,
  type RuleDraft,
} from './rule-draft.ts';

const text = messages.rules;

/** How rules are written: to an address at once, or into a group that is saved later. */
export interface RuleTarget {
  /** Null: a group. */
  readonly ip: string | null;
  write(rules: readonly NotedRule[]): Promise<Said | null>;
}

interface Props {
  readonly target: RuleTarget;
  readonly initial: RuleDraft;
  /** Tags to choose from; null: the rule can have no note. */
  readonly knownTags?: readonly string[] | null;
  onClose(): void;
}

/** Says below each field what was typed means, before anything is sent. */
export function RuleForm({ target, initial, knownTags = null, onClose }: Props) {
  const { ip, write } = target;
  return (
    <WriteForm
      label={text.add}
      layout="panel"
      initial={{ ...initial, ...EMPTY_NOTE }}
      refusal={({ protocol, ports, source }) =>
        !explainSource(source, ip).isValid || (hasPorts(protocol) && !explainPorts(ports).isValid)
      }
      write={({ note, tags, ...draft }) =>
        write([{ ...inputOf(draft), ...(knownTags !== null && noteOf({ note, tags })) }])
      }
      pointers={{ '/rules/0/destination_port': 'ports', '/rules/0/source_ip': 'source' }}
      isLocal={ip === null}
      say={(message) => message}
      onDone={onClose}
      onCancel={onClose}
      submit={(draft) => text.submit(countRules(draft))}
    >
      {(form) => {
        const { protocol, ports, source } = form.values;
        const takesPorts = hasPorts(protocol);
        return (
          <>
            <div className="form-row">
              <div className="field-s">
                <div className="label">{text.action}</div>
                <SegmentedControl
                  fullWidth
                  aria-label={text.action}
                  data={[
                    { value: 'allow', label: text.allow },
                    { value: 'deny', label: text.deny },
                  ]}
                  {...form.getInputProps('action', { withError: false })}
                />
              </div>
              <Select
                className="field-s"
                label={text.protocol}
                data={PROTOCOLS.map((value) => ({ value, label: text.protocols[value] }))}
                {...form.getInputProps('protocol')}
                onChange={(chosen) => form.setFieldValue('protocol', chosen ?? 'tcp')}
              />
              <ExplainedField
                data-autofocus
                label={text.port}
                placeholder={takesPorts ? '25565, 7000-7010' : text.noPorts}
                disabled={!takesPorts}
                explained={takesPorts ? explainPorts(ports) : null}
                {...form.getInputProps('ports')}
                value={takesPorts ? ports : ''}
              />
              <ExplainedField
                label={text.source}
                placeholder={text.anywhere}
                explained={explainSource(source, ip)}
                {...form.getInputProps('source')}
              />
            </div>
            {knownTags !== null && <NoteFields known={knownTags} form={form} />}
          </>
        );
      }}
    </WriteForm>
  );
}
