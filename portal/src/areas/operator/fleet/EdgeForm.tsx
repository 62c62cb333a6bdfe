import { Select, TextInput } from '@mantine/core';
import type { DeclaredEdge } from '@portcullis/client/index.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { DeclaredForm, type HostFormProps } from './DeclaredForm.tsx';
import { listOf } from './list-of.ts';
import { parseManagement, showManagement } from './management-ports.ts';

const text = operatorMessages.fleet;

/** Changes an edge. */
export default function EdgeForm({ name, onClose }: HostFormProps) {
  return (
    <DeclaredForm
      kind="edge"
      name={name}
      onClose={onClose}
      read={(signal) => personClient.readEdge({ name }, { signal })}
      draftOf={draftOf}
      lacks={({ devices }) => listOf(devices).length === 0}
      change={({ site, devices, serves, sees, fragments, management }, { headers, ...call }) => {
        const body = {
          site,
          devices: listOf(devices),
          serves: listOf(serves),
          sees,
          fragments,
          management: parseManagement(management),
        };
        return personClient.changeEdge({ ...call, body }, headers);
      }}
    >
      {({ getInputProps }) => (
        <>
          <div className="form-row">
            <TextInput className="field-s" label={text.site} {...getInputProps('site')} />
            <TextInput
              className="field"
              label={text.incoming}
              required
              {...getInputProps('devices')}
            />
            <TextInput className="field" label={text.serves} {...getInputProps('serves')} />
          </div>
          <div className="form-row">
            <Choice label={text.sees} words={text.seesOf} {...getInputProps('sees')} />
            <Choice
              label={text.fragments}
              words={text.fragmentsOf}
              {...getInputProps('fragments')}
            />
            <TextInput
              className="field"
              label={text.management}
              placeholder={text.managementText}
              {...getInputProps('management')}
            />
          </div>
        </>
      )}
    </DeclaredForm>
  );
}

function draftOf({ site, devices, serves, sees, fragments, management }: DeclaredEdge) {
  return {
    site,
    devices: devices.join(', '),
    serves: serves.join(', '),
    sees,
    fragments,
    management: showManagement(management),
  };
}

interface ChoiceProps {
  readonly label: string;
  readonly words: Readonly<Record<string, string>>;
}

function Choice({ label, words, ...input }: ChoiceProps) {
  const data = Object.entries(words).map(([value, shown]) => ({ value, label: shown }));
  return <Select className="field-s" label={label} data={data} allowDeselect={false} {...input} />;
}
