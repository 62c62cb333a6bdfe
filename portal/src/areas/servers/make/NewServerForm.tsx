import { Select, TextInput } from '@mantine/core';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import { useSession } from '../../../session/session.ts';
import { VariableFields } from '../form/VariableFields.tsx';
import { bodyOf, type Draft, initialDraft, type Offered, type Quota } from './draft.ts';
import { GamePicker } from './GamePicker.tsx';
import { PlaceField } from './PlaceField.tsx';
import { SizeFields } from './SizeFields.tsx';

interface Props {
  readonly quota: Quota;
  readonly games: readonly Offered[];
  /** The game that is chosen already; '': none. */
  readonly proposed: string;
  onMade(uuid: string): void;
}

/** The form of a new server: a game, a name, and what the game and its place can be given. */
export function NewServerForm({ quota, games, proposed, onMade }: Props) {
  const { client } = useSession();
  const gameOf = (egg: string): Offered | null => games.find(({ name }) => name === egg) ?? null;
  return (
    <section className="card card-pad" aria-label={text.title}>
      <WriteForm
        label={text.title}
        initial={initialDraft(quota, proposed)}
        submit={text.make}
        refusal={({ name, egg }) => name.trim() === '' || gameOf(egg) === null}
        write={async (draft) => {
          const game = gameOf(draft.egg);
          if (game === null) throw new Error(text.game);
          return (await client.makeGameServer({ body: bodyOf(draft, game) })).data;
        }}
        onDone={({ uuid }) => onMade(uuid)}
      >
        {(form) => (
          <>
            <GamePicker
              games={games}
              value={form.values.egg}
              onChange={(egg) => form.setValues({ egg, variables: {}, image: null })}
            />
            <Chosen form={form} game={gameOf(form.values.egg)} quota={quota} />
          </>
        )}
      </WriteForm>
    </section>
  );
}

interface ChosenProps {
  readonly form: Fields<Draft>;
  readonly game: Offered | null;
  readonly quota: Quota;
}

/** The fields that are asked once a game is chosen. */
function Chosen({ form, game, quota }: ChosenProps) {
  if (game === null) return null;
  const { values, getInputProps, setFieldValue } = form;
  return (
    <>
      <div className="form-row">
        <TextInput
          className="field"
          label={text.name}
          placeholder={game.title}
          maxLength={200}
          required
          {...getInputProps('name')}
        />
        {game.images.length > 1 && (
          <Select
            className="field"
            label={text.image}
            placeholder={game.images[0] ?? ''}
            data={[...game.images]}
            clearable
            {...getInputProps('image')}
          />
        )}
        {quota.services.length > 1 && (
          <Select
            className="field"
            label={text.service}
            placeholder={quota.services[0]?.name ?? ''}
            data={quota.services.map(({ id, name }) => ({
              value: String(id),
              label: `${name} (${id})`,
            }))}
            clearable
            {...getInputProps('service')}
          />
        )}
      </div>
      {game.variables.length > 0 && (
        <fieldset className="plain">
          <legend>{text.settings}</legend>
          <VariableFields
            variables={game.variables}
            values={values.variables}
            inputProps={(path) => getInputProps(path)}
          />
        </fieldset>
      )}
      <fieldset className="plain">
        <legend>{text.size}</legend>
        <SizeFields
          quota={quota}
          values={values.limits}
          errors={form.errors}
          onChange={(name, value) => setFieldValue(`limits.${name}`, value)}
        />
      </fieldset>
      <fieldset className="plain">
        <legend>{text.where}</legend>
        <PlaceField draft={values} onChange={(node) => setFieldValue('node', node)} />
      </fieldset>
    </>
  );
}
