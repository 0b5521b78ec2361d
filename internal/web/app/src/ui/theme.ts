// Light, dark, or as the system is.
import { byId } from './dom';

type Choice = 'system' | 'light' | 'dark';
const choices: Choice[] = ['system', 'light', 'dark'];
const stored = 'catfish-theme';
const names: Record<Choice, string> = { system: 'as the system', light: 'light', dark: 'dark' };

/** Sets the colours up, and calls onChange when they change. It reports whether they are dark. */
export function themeSwitch(onChange: (dark: boolean) => void): boolean {
  const media = matchMedia('(prefers-color-scheme: dark)');
  const button = byId<HTMLButtonElement>('theme');
  let choice = choices.find((c) => c === localStorage.getItem(stored)) ?? 'system';
  const isDark = (): boolean => choice === 'dark' || (choice === 'system' && media.matches);
  const apply = (): void => {
    document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light';
    button.title = `Colours: ${names[choice]}`;
    button.setAttribute('aria-label', button.title);
  };
  button.addEventListener('click', () => {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length]!;
    localStorage.setItem(stored, choice);
    apply();
    onChange(isDark());
  });
  media.addEventListener('change', () => {
    apply();
    onChange(isDark());
  });
  apply();
  return isDark();
}
