import { NumberInput, Select, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { serverSettingsMessages as text } from '../../../messages/servers/settings.ts';
import { useSession } from '../../../session/session.ts';
import { FIELD_ORDER, VariableFields } from '../form/VariableFields.tsx';
import {
  countChanges,
  draftOf,
  patchOf,
  type Settings,
  type SettingsDraft,
} from './settings-draft.ts';

interface Props {
  readonly uuid: string;
  readonly settings: Settings;
  readonly etag: string | null;
}

interface Read {
  readonly settings: Settings;
  readonly etag: string | null;
}

/** The fields of the settings. What is changed is what was read when the form opened, or was saved last. */
export function SettingsForm({ uuid, ...read }: Props) {
  const { client } = useSession();
  const [base, setBase] = useState<Read>(read);
  const [message, setMessage] = useState<string>(text.saved);
  const [initial] = useState(() => draftOf(read.settings));
  const changes = (draft: SettingsDraft): number => countChanges(patchOf(base.settings, draft));
  return (
    <div className="save-bar">
      <WriteForm
        label={text.title}
        initial={initial}
        submit={(draft) => text.save(changes(draft))}
        saved={message}
        refusal={(draft) => (changes(draft) === 0 ? text.nothing : draft.name.trim() === '')}
        write={async (draft) => {
          const body = patchOf(base.settings, draft);
          const terms = base.etag === null ? {} : { ifMatch: base.etag };
          return client.changeServerSettings({ slice: uuid, body }, terms);
        }}
        onDone={({ data, message: said = text.saved, response }) => {
          setBase({ settings: data, etag: response.etag });
          setMessage(said);
        }}
      >
        {(form) => <Cards form={form} settings={base.settings} />}
      </WriteForm>
    </div>
  );
}

interface CardsProps {
  readonly form: Fields<SettingsDraft>;
  readonly settings: Settings;
}

function Cards({ form, settings }: CardsProps) {
  const fixed = new Map(settings.fixed.map(({ pointer, reason }) => [pointer, reason]));
  const { variables } = settings;
  const ofVariables = new Map(
    variables.flatMap(({ env }) => {
      const reason = fixed.get(`/variables/${env}`);
      return reason === undefined ? [] : [[env, reason] as const];
    }),
  );
  return (
    <>
      <section className="card card-pad stack" aria-label={text.general}>
        <h2>{text.general}</h2>
        <GeneralFields form={form} settings={settings} fixed={fixed} />
      </section>
      <section className="card card-pad stack" aria-label={text.game}>
        <h2>{text.game}</h2>
        <p className="flat">{variables.length === 0 ? text.noVariables : text.gameText}</p>
        <VariableFields
          variables={variables}
          values={form.values.variables}
          fixed={ofVariables}
          inputProps={(path) => form.getInputProps(path)}
        />
      </section>
      <section className="card card-pad stack" aria-label={text.power}>
        <h2>{text.power}</h2>
        <PowerFields form={form} settings={settings} fixed={fixed} />
      </section>
    </>
  );
}

interface FieldsProps extends CardsProps {
  /** Why settings cannot be changed, by pointer. */
  readonly fixed: ReadonlyMap<string, string>;
}

/** The description of a field, or why it cannot be changed, and whether that is so. */
function about(fixed: FieldsProps['fixed'], pointer: string, words = '') {
  const reason = fixed.get(pointer);
  const inputWrapperOrder = FIELD_ORDER;
  return { description: reason ?? words, disabled: reason !== undefined, inputWrapperOrder };
}

function GeneralFields({ form, settings: { image }, fixed }: FieldsProps) {
  const [first = ''] = image.labels;
  return (
    <div className="form-row">
      <TextInput
        className="field"
        label={text.name}
        maxLength={200}
        required
        {...about(fixed, '/name')}
        {...form.getInputProps('name')}
      />
      <Select
        className="field"
        label={text.image}
        data={image.labels.map((label) => ({
          value: label,
          label: label === first ? text.firstImage(label) : label,
        }))}
        allowDeselect={false}
        {...about(fixed, '/image', text.imageText)}
        {...form.getInputProps('image')}
        value={form.values.image ?? first}
        onChange={(label) => form.setFieldValue('image', label === first ? null : label)}
      />
    </div>
  );
}

function PowerFields({ form, settings, fixed }: FieldsProps) {
  const isOff = !form.values.crashes.restart;
  const count = { className: 'field-m', allowDecimal: false, clampBehavior: 'none' } as const;
  return (
    <>
      <div className="form-row">
        <Select
          className="field-m"
          label={text.withHost}
          data={Object.entries(text.withHostChoices).map(([value, label]) => ({ value, label }))}
          allowDeselect={false}
          {...about(fixed, '/start_with_host', text.withHostText)}
          {...form.getInputProps('start_with_host')}
        />
        <NumberInput
          {...count}
          label={text.stopTime}
          min={0}
          max={3_600}
          {...about(fixed, '/stop_seconds', text.stopTimeText(settings.stop_seconds_of_egg))}
          {...form.getInputProps('stop_seconds')}
        />
      </div>
      <Switch
        label={text.restart}
        disabled={fixed.has('/crashes/restart')}
        description={fixed.get('/crashes/restart')}
        {...form.getInputProps('crashes.restart', { type: 'checkbox' })}
      />
      <div className="form-row">
        <NumberInput
          {...count}
          label={text.tries}
          min={1}
          max={10}
          {...about(fixed, '/crashes/tries', text.triesText)}
          {...form.getInputProps('crashes.tries')}
          {...(isOff && { disabled: true })}
        />
        <NumberInput
          {...count}
          label={text.within}
          min={0}
          max={86_400}
          {...about(fixed, '/crashes/within_seconds', text.withinText)}
          {...form.getInputProps('crashes.within_seconds')}
          {...(isOff && { disabled: true })}
        />
      </div>
    </>
  );
}
