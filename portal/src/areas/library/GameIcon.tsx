interface Props {
  readonly title: string;
  /** A `data:` URI, which the service has checked; null: initials stand for it. */
  readonly icon: string | null;
}

/** The icon of a game. It says nothing that its title beside it does not. */
export function GameIcon({ title, icon }: Props) {
  if (icon !== null) return <img className="game-icon" src={icon} alt="" loading="lazy" />;
  return (
    <span className="game-icon" data-hue={hueOf(title)} aria-hidden="true">
      {initialsOf(title)}
    </span>
  );
}

const HUES = 6;

function hueOf(title: string): number {
  return [...title].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % HUES;
}

function initialsOf(title: string): string {
  const words = title.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  return words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('');
}
