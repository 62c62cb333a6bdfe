import { Switch, TextInput } from '@mantine/core';
import type { DeclaredServer } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { personClient } from '../../../session/session.ts';
import { listOf } from '../../operator/fleet/list-of.ts';
import { type EggVariable, limitsDraft, sentLimits, variablesPatch } from './draft.ts';
import { LimitFields } from './LimitFields.tsx';
import { VariableFields } from './VariableFields.tsx';

/** Limits and opening of a server, and the variables that its people cannot set, as an operator changes them. */
export default function ServerSettings({ uuid }: { readonly uuid: string }) {
  const settings = useQuery({
    queryKey: ['server', uuid, 'settings'],
    queryFn: async ({ signal }) => {
      const [{ data, response }, egg] = await Promise.all([
        personClient.readServer({ uuid }, { signal }),
        personClient.readServerEgg({ uuid }, { signal }),
      ]);
      const { variables } = egg.data.egg;
      const hidden = variables.filter(({ viewable, editable }) => !viewable || !editable);
      return { server: data, etag: response.etag, variables: hidden };
    },
    // What is changed is what was read.
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className="card card-pad" aria-label={text.change.title}>
      <h2>{text.change.title}</h2>
      <p>{text.change.lead}</p>
      <Loaded query={settings} rows={6}>
        {(read) => <SettingsForm key={uuid} {...read} />}
      </Loaded>
    </section>
  );
}

interface FormProps {
  readonly server: DeclaredServer;
  readonly etag: string | null;
  /** Variables that only the operator sets. */
  readonly variables: readonly EggVariable[];
}

function SettingsForm({ server, etag, variables }: FormProps) {
  const state = useRef(etag);
  const { uuid, limits, owner, open_while_running: open } = server;
  if (owner === 'fleet') return <Notice kind="info">{text.change.ofFleet}</Notice>;
  return (
    <WriteForm
      label={text.change.title}
      initial={{
        limits: limitsDraft(limits),
        variables: { ...server.variables },
        open: open !== false,
        dockerImage: server.docker_image ?? '',
        startup: server.startup ?? '',
        mounts: server.mounts.join(', '),
      }}
      submit={text.change.save}
      saved={text.change.saved}
      write={async (draft) => {
        const body = {
          limits: sentLimits(draft),
          variables: variablesPatch(variables, draft.variables),
          docker_image: draft.dockerImage.trim() || null,
          startup: draft.startup.trim() || null,
          mounts: listOf(draft.mounts),
          // Single ports that are named elsewhere stay as they are.
          ...(typeof open === 'boolean' && { open_while_running: draft.open }),
        };
        const { current: ifMatch } = state;
        const saved = await personClient.changeServer(
          { uuid, body },
          ifMatch === null ? {} : { ifMatch },
        );
        state.current = saved.response.etag;
        return saved;
      }}
    >
      {(form) => (
        <>
          {variables.length > 0 && (
            <VariableFields
              variables={variables}
              values={form.values.variables}
              inputProps={(path) => form.getInputProps(path)}
            />
          )}
          <LimitFields inputProps={(path, how) => form.getInputProps(path, how)} />
          <StartFields form={form} />
          {typeof open === 'boolean' && (
            <Switch
              label={text.open}
              description={text.openText}
              {...form.getInputProps('open', { type: 'checkbox' })}
            />
          )}
        </>
      )}
    </WriteForm>
  );
}

interface StartDraft {
  readonly dockerImage: string;
  readonly startup: string;
  readonly mounts: string;
}

/** An image and a startup line in place of the egg's, and mounts of its node. */
function StartFields<Draft extends StartDraft>({ form }: { readonly form: Fields<Draft> }) {
  return (
    <div className="form-row">
      <TextInput
        className="field"
        label={text.ownImage}
        placeholder={text.ofEgg}
        maxLength={512}
        {...form.getInputProps('dockerImage')}
      />
      <TextInput
        className="field"
        label={text.startup}
        placeholder={text.ofEgg}
        maxLength={16_384}
        {...form.getInputProps('startup')}
      />
      <TextInput
        className="field"
        label={text.mounts}
        placeholder={text.noMounts}
        {...form.getInputProps('mounts')}
      />
    </div>
  );
}
