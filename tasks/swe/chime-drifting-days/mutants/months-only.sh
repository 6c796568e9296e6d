# Must not pass: rules by month keep their day, and years, weeks, shifts and missed runs are as before.
cd /srv/chime
sed -i 's/        return _months_later(day, rule.count, day.day)/        return _months_later(day, rule.count, rule.on[0])/' chime/days.py
sed -i 's/            late = late\[:1\]/            late = late[-1:]/' chime/scheduler.py
