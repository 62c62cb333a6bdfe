import { NumberInput, Select, Switch, TextInput } from '@mantine/core';
import type { DeclaredServer } from '@portcullis/client/index.ts';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { personClient } from '../../../session/session.ts';
import type { Organisation } from '../../operator/queries.ts';
import { type Draft, type Egg, EMPTY, hostOf, OWN_EGG, serverInput } from './draft.ts';
import { EggPicker } from './EggPicker.tsx';
import { HostNotice } from './HostNotice.tsx';
import { LimitFields } from './LimitFields.tsx';
import { OwnEgg, type OwnEggRead } from './OwnEgg.tsx';
import { useEggs, useNodes } from './queries.ts';
import { VariableFields } from './VariableFields.tsx';

export interface ServerFormProps {
  readonly organisation: Organisation;
  onClose(): void;
  onMade?(server: DeclaredServer): void;
}

/** Makes a server: a game, a name, and what the game and its place can be given. */
export function ServerForm(props: ServerFormProps) {
  const { slug, services } = props.organisation;
  const eggs = useEggs();
  if (services.length === 0) {
    return (
      <div className="panel stack">
        <Notice kind="warn">
          {text.noService}{' '}
          <Link to="/operator/$slug" params={{ slug }}>
            {text.noServiceLink}
          </Link>
        </Notice>
      </div>
    );
  }
  return (
    <Loaded query={eggs} rows={6}>
      {(library) => <Form {...props} library={library} />}
    </Loaded>
  );
}

function Form({
  organisation: { slug, services },
  library,
  onClose,
  onMade,
}: ServerFormProps & { readonly library: readonly Egg[] }) {
  const [own, setOwn] = useState<OwnEggRead | null>(null);
  const [service] = services;
  const eggOf = (name: string): Egg | null =>
    name === OWN_EGG ? (own?.egg ?? null) : (library.find((egg) => egg.name === name) ?? null);
  return (
    <WriteForm
      label={text.create}
      layout="panel"
      initial={{ ...EMPTY, service: service === undefined ? null : String(service.id) }}
      submit={text.create}
      pointers={{
        '/allocations/0': 'port',
        '/allocations/0/ip': 'address',
        '/allocations/0/port': 'port',
      }}
      refusal={({ name, egg: chosen, service: of, node }) => {
        const egg = eggOf(chosen);
        const host = egg && hostOf(egg, node);
        return name.trim() === '' || egg === null || of === null || host?.ok !== true;
      }}
      write={async (draft) => {
        const egg = eggOf(draft.egg);
        if (egg === null) throw new Error(text.game);
        const document = draft.egg === OWN_EGG ? (own?.document ?? null) : null;
        const body = serverInput(slug, draft, { egg, document });
        return (await personClient.createServer({ body })).data;
      }}
      onDone={(server) => {
        onClose();
        onMade?.(server);
      }}
      onCancel={onClose}
    >
      {(form) => (
        <>
          <EggPicker
            eggs={library}
            value={form.values.egg}
            node={form.values.node}
            onChange={(egg) => form.setValues({ egg, variables: {}, image: null })}
          />
          {form.values.egg === OWN_EGG && <OwnEgg read={own} onRead={(egg) => setOwn(egg)} />}
          <Chosen form={form} egg={eggOf(form.values.egg)} services={services} />
        </>
      )}
    </WriteForm>
  );
}

interface ChosenProps {
  readonly form: Fields<Draft>;
  readonly egg: Egg | null;
  readonly services: Organisation['services'];
}

/** The fields that are asked once a game is chosen. */
function Chosen({ form, egg, services }: ChosenProps) {
  if (egg === null) return null;
  const host = hostOf(egg, form.values.node);
  return (
    <>
      {host !== null && !host.ok && <HostNotice host={host} />}
      <NameFields form={form} egg={egg} services={services} />
      {egg.variables.length > 0 && (
        <fieldset className="plain">
          <legend>{text.settings}</legend>
          <VariableFields
            variables={egg.variables}
            values={form.values.variables}
            inputProps={(path) => form.getInputProps(path)}
          />
        </fieldset>
      )}
      <fieldset className="plain">
        <legend>{text.limits}</legend>
        <LimitFields inputProps={(path, how) => form.getInputProps(path, how)} />
      </fieldset>
      <PlaceFields form={form} />
    </>
  );
}

function NameFields({
  form: { getInputProps },
  egg,
  services,
}: ChosenProps & { readonly egg: Egg }) {
  return (
    <div className="form-row">
      <TextInput
        className="field"
        autoFocus
        label={text.name}
        placeholder={egg.title}
        maxLength={200}
        required
        {...getInputProps('name')}
      />
      {egg.images.length > 1 && (
        <Select
          className="field"
          label={text.image}
          placeholder={egg.images[0] ?? ''}
          data={[...egg.images]}
          clearable
          {...getInputProps('image')}
        />
      )}
      {services.length > 1 && (
        <Select
          className="field-s"
          label={text.service}
          data={services.map(({ id, name }) => ({ value: String(id), label: name }))}
          required
          {...getInputProps('service')}
        />
      )}
    </div>
  );
}

function PlaceFields({ form }: { readonly form: Fields<Draft> }) {
  const nodes = useNodes().data ?? [];
  const { node, address } = form.values;
  const addresses = [
    ...new Set(
      nodes.filter(({ name }) => node === null || name === node).flatMap((one) => one.addresses),
    ),
  ];
  const { getInputProps } = form;
  return (
    <fieldset className="plain stack">
      <legend>{text.place}</legend>
      <div className="form-row">
        {nodes.length > 1 && (
          <Select
            className="field-s"
            label={text.node}
            placeholder={text.anyNode}
            data={nodes.map(({ name }) => name)}
            clearable
            {...getInputProps('node')}
          />
        )}
        <Select
          className="field-m"
          label={text.address}
          placeholder={text.free}
          data={addresses}
          clearable
          {...getInputProps('address')}
        />
        <NumberInput
          className="field-s"
          label={text.port}
          placeholder={text.free}
          min={1}
          max={65_535}
          allowDecimal={false}
          hideControls
          required={address !== null}
          {...getInputProps('port')}
          onChange={(port) => {
            // One of several addresses has to be said; the only one need not.
            const [only] = addresses;
            const isOnly = address === null && addresses.length === 1 && port !== '';
            form.setValues({ port, ...(isOnly && only !== undefined && { address: only }) });
          }}
        />
      </div>
      <Switch
        label={text.open}
        description={text.openText}
        {...getInputProps('open', { type: 'checkbox' })}
      />
    </fieldset>
  );
}
