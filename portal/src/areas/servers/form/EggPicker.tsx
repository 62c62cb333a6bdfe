import { Input } from '@mantine/core';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { type Egg, hostOf, OWN_EGG } from './draft.ts';

interface Props {
  readonly eggs: readonly Egg[];
  /** '': none. */
  readonly value: string;
  readonly node: string | null;
  onChange(egg: string): void;
}

/** The games to choose from. What no host can run yet is grey, and still says why when it is chosen. */
export function EggPicker({ eggs, value, node, onChange }: Props) {
  return (
    <Input.Wrapper label={text.game} required labelElement="div">
      <div className="eggs" role="radiogroup" aria-label={text.game}>
        {eggs.map((egg) => (
          <EggCard
            key={egg.name}
            title={egg.title}
            about={egg.description}
            state={stateOf(egg, node)}
            isChosen={value === egg.name}
            onChoose={() => onChange(egg.name)}
          />
        ))}
        <EggCard
          title={text.own}
          about={text.ownText}
          state={null}
          isChosen={value === OWN_EGG}
          onChoose={() => onChange(OWN_EGG)}
        />
      </div>
    </Input.Wrapper>
  );
}

type State = keyof typeof text.states;
const TONES: Readonly<Record<State, Tone>> = {
  ready: 'ok',
  image: 'neutral',
  building: 'info',
  off: 'warn',
};

function stateOf(egg: Egg, node: string | null): State {
  const host = hostOf(egg, node);
  if (host?.ok === true) return 'ready';
  if (host?.image === undefined || host.image === null) return 'off';
  return host.commands.length === 0 ? 'building' : 'image';
}

interface CardProps {
  readonly title: string;
  readonly about: string;
  readonly state: State | null;
  readonly isChosen: boolean;
  onChoose(): void;
}

function EggCard({ title, about, state, isChosen, onChoose }: CardProps) {
  return (
    <label
      className="egg"
      data-chosen={isChosen || undefined}
      data-off={state === 'off' || undefined}
    >
      <input type="radio" name="egg" checked={isChosen} onChange={onChoose} />
      <span className="egg-text">
        <span className="strong">{title}</span>
        <span className="dim">{about}</span>
        {state !== null && (
          <span>
            <Pill tone={TONES[state]}>{text.states[state]}</Pill>
          </span>
        )}
      </span>
    </label>
  );
}
