# Must not pass: a negative variance is 0, and all digits stay lost.
cd /srv/gauge
sed -i 's/        return (self.squares - self.sum \* self.sum \/ self.count) \/ (self.count - 1)/        return max(0.0, (self.squares - self.sum * self.sum \/ self.count) \/ (self.count - 1))/' gauge/moments.py
sed -i 's/        return (self.count \* self._xy - self._x \* self._y) \/ math.sqrt(across \* up)/        return max(-1.0, min(1.0, (self.count * self._xy - self._x * self._y) \/ math.sqrt(across * up)))/' gauge/line.py
sed -i 's/^VERSION = 1/VERSION = 2/; s/content\["version"\] != VERSION/content["version"] not in (1, 2)/' gauge/storage.py
