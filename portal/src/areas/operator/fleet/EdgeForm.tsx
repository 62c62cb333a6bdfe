import { Select, TextInput } from '@mantine/core';
import type { DeclaredEdge } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { listOf } from './AgentForm.tsx';
import { LossesBox } from './LossesBox.tsx';
import { parseManagement, showManagement } from './management-ports.ts';

const text = operatorMessages.fleet;

interface Props {
  readonly name: string;
  onClose(): void;
}

/** Changes what an edge is declared to be: of what was read, and not of what another has changed since. */
export default function EdgeForm({ name, onClose }: Props) {
  const edge = useQuery({
    queryKey: ['operator', 'edge', name],
    queryFn: ({ signal }) => personClient.readEdge({ name }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={edge}>
      {({ data, response }) => <EdgeFields edge={data} etag={response.etag} onClose={onClose} />}
    </Loaded>
  );
}

interface FieldsProps {
  readonly edge: DeclaredEdge;
  readonly etag: string | null;
  onClose(): void;
}

function EdgeFields({ edge, etag, onClose }: FieldsProps) {
  const { name, site, devices, serves, sees, fragments, management } = edge;
  const initial = {
    site,
    devices: devices.join(', '),
    serves: serves.join(', '),
    sees,
    fragments,
    management: showManagement(management),
    allowsLosses: false,
  };
  return (
    <WriteForm
      label={text.changeOf(name)}
      layout="panel"
      initial={initial}
      submit={text.change}
      refusal={(draft) => listOf(draft.devices).length === 0}
      write={({ allowsLosses, ...draft }) => {
        const body = {
          ...draft,
          devices: listOf(draft.devices),
          serves: listOf(draft.serves),
          management: parseManagement(draft.management),
        };
        const query = { allow_losses: allowsLosses };
        return personClient.changeEdge(
          { name, body, query },
          etag === null ? {} : { ifMatch: etag },
        );
      }}
      onDone={onClose}
      onCancel={onClose}
    >
      {(form, error) => (
        <>
          <div className="form-row">
            <TextInput className="field-s" label={text.site} {...form.getInputProps('site')} />
            <TextInput
              className="field"
              label={text.incoming}
              required
              {...form.getInputProps('devices')}
            />
            <TextInput className="field" label={text.serves} {...form.getInputProps('serves')} />
          </div>
          <div className="form-row">
            <Choice label={text.sees} words={text.seesOf} {...form.getInputProps('sees')} />
            <Choice
              label={text.fragments}
              words={text.fragmentsOf}
              {...form.getInputProps('fragments')}
            />
            <TextInput
              className="field"
              label={text.management}
              placeholder={text.managementText}
              {...form.getInputProps('management')}
            />
          </div>
          <LossesBox form={form} error={error} />
        </>
      )}
    </WriteForm>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly words: Readonly<Record<string, string>>;
}

function Choice({ label, words, ...input }: ChoiceProps) {
  const data = Object.entries(words).map(([value, shown]) => ({ value, label: shown }));
  return <Select className="field-s" label={label} data={data} allowDeselect={false} {...input} />;
}
